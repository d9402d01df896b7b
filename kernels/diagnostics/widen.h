// 16-bit elements to FP32, exactly and without a branch, so that the loops around it vectorise
// on processors without half-precision instructions too.
#pragma once

#include <bit>
#include <cstdint>

namespace kernels {

inline float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

inline float fp16_to_float(std::uint16_t bits) {
  const std::uint32_t magnitude = (bits & 0x7FFFU) << 13;
  // Re-bias the exponent; all-ones goes to FP32's all-ones by a second re-bias.
  std::uint32_t wide = magnitude + (112U << 23);
  wide += magnitude >= (31U << 23) ? (112U << 23) : 0U;
  // A subnormal has no hidden bit: build the value with one, then subtract it.
  const float subnormal = std::bit_cast<float>(magnitude + (113U << 23)) - 0x1p-14F;
  const float value = magnitude < (1U << 23) ? subnormal : std::bit_cast<float>(wide);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | ((bits & 0x8000U) << 16));
}

}  // namespace kernels
