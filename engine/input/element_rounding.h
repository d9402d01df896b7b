// BF16 and FP16 to FP32 and back, on bits: round to nearest even, subnormals kept, NaN stays NaN.
// Branch-free where it matters, so that loops over it vectorise.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/common/formats.h"

namespace engine {

constexpr float bf16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

constexpr std::uint16_t bf16_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  // Rounding a NaN could carry into the exponent and make it infinite or zero.
  const std::uint32_t quiet_nan = (bits >> 16) | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet_nan : rounded);
}

constexpr float fp16_value(std::uint16_t bits) {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7FFFU) << 13;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  // The product rebases the exponent from 15 to 127 and is exact for subnormals too.
  const std::uint32_t finite =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  const bool special = magnitude >= (0x7C00U << 13);
  return std::bit_cast<float>(sign | (special ? magnitude | 0x7F800000U : finite));
}

constexpr std::uint16_t fp16_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  // Adding 0.5 leaves a subnormal half's bits at the bottom of the sum's mantissa, rounded by the
  // FPU.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
  const std::uint32_t normal = (magnitude - 0x38000000U + 0xFFFU + ((magnitude >> 13) & 1U)) >> 13;
  std::uint32_t half = magnitude < 0x38800000U ? subnormal : normal;
  half = magnitude >= 0x47800000U ? 0x7C00U : half;  // 65536 and above, infinity
  half = magnitude > 0x7F800000U ? 0x7E00U : half;
  return static_cast<std::uint16_t>(sign | half);
}

/// The same for a type, BF16 or FP16.
constexpr float value_of(kernels::InputType type, std::uint16_t bits) {
  return type == kernels::InputType::Fp16 ? fp16_value(bits) : bf16_value(bits);
}
constexpr std::uint16_t round_to(kernels::InputType type, float value) {
  return type == kernels::InputType::Fp16 ? fp16_bits(value) : bf16_bits(value);
}

/// Element i of an array of any type, as FP32 (exact).
inline float element_value(kernels::InputType type, const void* elements, std::int64_t i) {
  if (type == kernels::InputType::Fp32) return static_cast<const float*>(elements)[i];
  return value_of(type, static_cast<const std::uint16_t*>(elements)[i]);
}

}  // namespace engine
