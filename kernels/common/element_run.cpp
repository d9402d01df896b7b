// Inner loops of the CPU twins. Built with -ffp-contract=off: fusing the scaling product with
// the addition inside fp8_encode would skip a rounding required by the definition.
#include "kernels/common/element_run.h"

#include <limits>

#include "kernels/common/activation_math.h"
#include "kernels/common/fp8_codes.h"
#include "kernels/common/input_elements.h"

namespace kernels {
namespace {

template <InputType kType>
using Bits = typename InputElement<kType>::Bits;

template <InputType kType>
[[gnu::always_inline]] inline Bits<kType> largest_magnitude(const Bits<kType>* input,
                                                            std::int64_t count) {
  using Element = InputElement<kType>;
  Bits<kType> largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto magnitude = static_cast<Bits<kType>>(input[i] & Element::kMagnitudeMask);
    // 1 up to infinity, 0 for NaN: the sign of a difference, because a comparison would become a
    // branch that prevents vectorisation of the loop.
    const auto counts = static_cast<Bits<kType>>((magnitude - (Element::kInfinity + 1U)) >>
                                                 (std::numeric_limits<Bits<kType>>::digits - 1));
    const auto counted = static_cast<Bits<kType>>(magnitude & (Bits<kType>{0} - (counts & 1U)));
    largest = counted > largest ? counted : largest;
  }
  return largest;
}

template <InputType kType, Fp8Format kFormat>
[[gnu::always_inline]] inline void cast_elements(const Bits<kType>* __restrict input,
                                                 std::int64_t count, float scale,
                                                 std::uint8_t* __restrict output) {
  for (std::int64_t i = 0; i < count; ++i) {
    output[i] = fp8_encode<kFormat>(InputElement<kType>::value(input[i]) * scale);
  }
}

template <InputType kType>
[[gnu::always_inline]] inline void widen_elements(const Bits<kType>* __restrict input,
                                                  std::int64_t count, float* __restrict output) {
  for (std::int64_t i = 0; i < count; ++i) output[i] = InputElement<kType>::value(input[i]);
}

// target_clones does not apply to templates: one plain function per combination.
KERNELS_VECTOR_CLONES void widen_bf16(const std::uint16_t* input, std::int64_t count,
                                      float* output) {
  widen_elements<InputType::Bf16>(input, count, output);
}
KERNELS_VECTOR_CLONES void widen_fp16(const std::uint16_t* input, std::int64_t count,
                                      float* output) {
  widen_elements<InputType::Fp16>(input, count, output);
}
/// A host NaN may have another sign and payload.
KERNELS_VECTOR_CLONES void copy_canonical(const float* values, std::int64_t count,
                                          std::uint32_t* output) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(values[i]);
    output[i] = (bits & 0x7FFFFFFFU) > 0x7F800000U ? 0x7FFFFFFFU : bits;
  }
}
KERNELS_VECTOR_CLONES std::uint16_t largest_bf16(const std::uint16_t* input, std::int64_t count) {
  return largest_magnitude<InputType::Bf16>(input, count);
}
KERNELS_VECTOR_CLONES std::uint16_t largest_fp16(const std::uint16_t* input, std::int64_t count) {
  return largest_magnitude<InputType::Fp16>(input, count);
}
KERNELS_VECTOR_CLONES std::uint32_t largest_fp32(const std::uint32_t* input, std::int64_t count) {
  return largest_magnitude<InputType::Fp32>(input, count);
}
KERNELS_VECTOR_CLONES void bf16_to_e4m3(const std::uint16_t* input, std::int64_t count, float scale,
                                        std::uint8_t* output) {
  cast_elements<InputType::Bf16, Fp8Format::E4m3>(input, count, scale, output);
}
KERNELS_VECTOR_CLONES void bf16_to_e5m2(const std::uint16_t* input, std::int64_t count, float scale,
                                        std::uint8_t* output) {
  cast_elements<InputType::Bf16, Fp8Format::E5m2>(input, count, scale, output);
}
KERNELS_VECTOR_CLONES void fp16_to_e4m3(const std::uint16_t* input, std::int64_t count, float scale,
                                        std::uint8_t* output) {
  cast_elements<InputType::Fp16, Fp8Format::E4m3>(input, count, scale, output);
}
KERNELS_VECTOR_CLONES void fp16_to_e5m2(const std::uint16_t* input, std::int64_t count, float scale,
                                        std::uint8_t* output) {
  cast_elements<InputType::Fp16, Fp8Format::E5m2>(input, count, scale, output);
}
KERNELS_VECTOR_CLONES void fp32_to_e4m3(const std::uint32_t* input, std::int64_t count, float scale,
                                        std::uint8_t* output) {
  cast_elements<InputType::Fp32, Fp8Format::E4m3>(input, count, scale, output);
}
KERNELS_VECTOR_CLONES void fp32_to_e5m2(const std::uint32_t* input, std::int64_t count, float scale,
                                        std::uint8_t* output) {
  cast_elements<InputType::Fp32, Fp8Format::E5m2>(input, count, scale, output);
}

}  // namespace

float run_amax(const ElementRun& run) {
  const auto* narrow = static_cast<const std::uint16_t*>(run.input) + run.first;
  switch (run.type) {
    case InputType::Bf16:
      return InputElement<InputType::Bf16>::value(largest_bf16(narrow, run.count));
    case InputType::Fp16:
      return InputElement<InputType::Fp16>::value(largest_fp16(narrow, run.count));
    case InputType::Fp32:
      break;
  }
  const auto* wide = static_cast<const std::uint32_t*>(run.input) + run.first;
  return InputElement<InputType::Fp32>::value(largest_fp32(wide, run.count));
}

void widen_run(const ElementRun& run, float* output) {
  const auto* narrow = static_cast<const std::uint16_t*>(run.input) + run.first;
  switch (run.type) {
    case InputType::Bf16:
      return widen_bf16(narrow, run.count, output);
    case InputType::Fp16:
      return widen_fp16(narrow, run.count, output);
    case InputType::Fp32:
      break;
  }
  std::copy_n(static_cast<const float*>(run.input) + run.first, run.count, output);
}

void round_run(const float* values, std::int64_t count, InputType type, void* output,
               std::int64_t first) {
  auto* const narrow = static_cast<std::uint16_t*>(output) + first;
  switch (type) {
    case InputType::Bf16:
      std::transform(values, values + count, narrow, round_to_bf16);
      return;
    case InputType::Fp16:
      std::transform(values, values + count, narrow, round_to_fp16);
      return;
    case InputType::Fp32:
      break;
  }
  copy_canonical(values, count, static_cast<std::uint32_t*>(output) + first);
}

void cast_run(const ElementRun& run, float scale, Fp8Format format, std::uint8_t* output) {
  const bool e4m3 = format == Fp8Format::E4m3;
  if (run.type == InputType::Fp32) {
    const auto* wide = static_cast<const std::uint32_t*>(run.input) + run.first;
    (e4m3 ? fp32_to_e4m3 : fp32_to_e5m2)(wide, run.count, scale, output);
    return;
  }
  const auto* narrow = static_cast<const std::uint16_t*>(run.input) + run.first;
  if (run.type == InputType::Bf16) {
    (e4m3 ? bf16_to_e4m3 : bf16_to_e5m2)(narrow, run.count, scale, output);
  } else {
    (e4m3 ? fp16_to_e4m3 : fp16_to_e5m2)(narrow, run.count, scale, output);
  }
}

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

namespace {

void round_in_place(InputType type, std::int64_t count, float* values) {
  if (type == InputType::Fp32) return;
  for (std::int64_t i = 0; i < count; ++i) {
    values[i] = type == InputType::Bf16
                    ? InputElement<InputType::Bf16>::value(round_to_bf16(values[i]))
                    : InputElement<InputType::Fp16>::value(round_to_fp16(values[i]));
  }
}

}  // namespace

void activate_run(const Activation& activation, InputType type, const float* up, std::int64_t count,
                  float* gate) {
  dispatch_activation(activation, [&]<ActivationFunction kFunction, bool kGated, bool kClamped>() {
    for (std::int64_t i = 0; i < count; ++i) {
      gate[i] = activated<kFunction, kGated, kClamped>(activation, gate[i], kGated ? up[i] : 0.0F,
                                                       AnySigmoid());
    }
  });
  round_in_place(type, count, gate);
}

void activation_gradient_run(const Activation& activation, InputType type, const float* up,
                             const float* dy, bool of_up, std::int64_t count, float* gate) {
  dispatch_activation(activation, [&]<ActivationFunction kFunction, bool kGated, bool kClamped>() {
    for (std::int64_t i = 0; i < count; ++i) {
      gate[i] = activation_gradient<kFunction, kGated, kClamped>(
          activation, gate[i], kGated ? up[i] : 0.0F, dy[i], of_up, AnySigmoid());
    }
  });
  round_in_place(type, count, gate);
}

}  // namespace kernels
