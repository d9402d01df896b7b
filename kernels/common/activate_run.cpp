#include "kernels/common/activate_run.h"

#include "kernels/common/input_elements.h"
#include "kernels/common/silu.h"

namespace kernels {

std::uint16_t round_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return 0x7FFF;
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

std::uint16_t round_to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return 0x7FFF;
  if (magnitude >= 0x477FF000U)
    return static_cast<std::uint16_t>(sign | 0x7C00U);  // 65520 and above
  if (magnitude < 0x38800000U) {
    // Below the smallest normal: the FP32 adder rounds to the grid of FP16's subnormals.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0xFFFU + odd) >> 13));
}

void activate_run(InputType type, const float* up, std::int64_t count, float* gate) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = exact_multiply(silu(gate[i]), up[i]);
    switch (type) {
      case InputType::Bf16:
        gate[i] = InputElement<InputType::Bf16>::value(round_to_bf16(value));
        break;
      case InputType::Fp16:
        gate[i] = InputElement<InputType::Fp16>::value(round_to_fp16(value));
        break;
      case InputType::Fp32:
        gate[i] = value;
        break;
    }
  }
}

}  // namespace kernels
