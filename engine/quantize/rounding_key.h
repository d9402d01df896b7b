// Keys of stochastic rounding. Two tensors that draw the same random numbers round with correlated
// errors, which then add up in their product instead of averaging out.
#pragma once

#include <cstdint>

#include "engine/input/tensor_source.h"
#include "kernels/common/philox.h"

namespace engine {

/// One tensor that is quantized by itself. No two of a step are equal.
struct RoundedTensor {
  OperandRole role = OperandRole::Activations;
  int layer = 0;
  int part = 0;  // of a list of weights, or of an operand that is quantized expert by expert
};

/// The Philox key for `tensor` in a run with `seed`: Philox itself under the seed, so that the keys
/// of two tensors have nothing in common.
inline std::uint64_t rounding_key(std::uint64_t seed, const RoundedTensor& tensor) {
  const auto high_half = [](int value) { return static_cast<std::uint64_t>(value) << 32; };
  const kernels::PhiloxWords words =
      kernels::philox4x32(high_half(tensor.layer) | static_cast<std::uint32_t>(tensor.part),
                          static_cast<std::uint64_t>(tensor.role), seed);
  return (std::uint64_t{words.words[1]} << 32) | words.words[0];
}

}  // namespace engine
