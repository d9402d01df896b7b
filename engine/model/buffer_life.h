// How long a step needs the values that it makes. If the forward and the backward pass are separate
// graphs, engine/device/graph_memory.h places memory accordingly; engine/program/lives.h derives
// the lives of the tensors of a step.
#pragma once

#include <cstdint>

namespace engine {

enum class BufferLife : std::uint8_t {
  Step,   // what outlives a step, what its caller reads, what must have a known value when a graph
          // starts: outputs, quantized weights, splits, amax histories, scales, codes that a
          // native product reads with swizzled scales
  Saved,  // forward leaves it for backward
  Forward,   // used in the forward pass only
  Backward,  // used in the backward pass only
};

}  // namespace engine
