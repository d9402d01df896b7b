// How long a step needs what it makes. Where the forward and the backward pass are graphs of their
// own, engine/device/graph_memory.h makes memory out of it; engine/program/lives.h derives it for
// the tensors of a step.
#pragma once

#include <cstdint>

namespace engine {

enum class BufferLife : std::uint8_t {
  Step,   // what outlives a step, what its caller reads, what must have a known value when a graph
          // starts: outputs, quantized weights, splits, amax histories, scales, codes that a
          // native product reads with swizzled scales
  Saved,  // forward leaves it for backward
  Forward,   // of that pass alone
  Backward,  // likewise
};

}  // namespace engine
