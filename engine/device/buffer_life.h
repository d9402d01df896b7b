// How long the contents of a device buffer are needed, where the forward and the backward pass of a
// step are graphs of their own. Said by the label of an allocation; engine/device/graph_memory.h
// makes memory out of it.
//
// clang-format off
//   Step      operands, splits and what small arrays follow from them, outputs of the step,
//             quantized weights, amax histories and scales, tickets, random state: what outlives a
//             step, what its caller reads, and what must have a known value when a graph starts:
//             scales, and codes that a native product reads with swizzled ones
//   Saved     what forward leaves for backward: H, A in high precision, columnwise copies of X and
//             A, rows that tokens were permuted into, unless they are quantized
//   Forward   rowwise copies of X and A, rows of tokens that are quantized, workspaces of fprop
//   Backward  dA, dH, dY that was permuted, every copy of dY and dH, late copies of A, bias
//             partials, workspaces of dgrad and wgrad
// clang-format on
#pragma once

#include <cstdint>

namespace engine {

enum class BufferLife : std::uint8_t { Step, Saved, Forward, Backward };

}  // namespace engine
