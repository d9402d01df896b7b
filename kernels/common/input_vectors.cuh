// Element access on the device: eight consecutive input elements are one step of every kernel.
// Loads are 16 bytes wide; columns % 16 == 0 keeps a step inside its row and aligned.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/common/types.h"

namespace kernels {

inline constexpr int kStep = 8;  // elements

template <InputType kType>
struct DeviceElement;
template <>
struct DeviceElement<InputType::Bf16> {
  using Type = __nv_bfloat16;
};
template <>
struct DeviceElement<InputType::Fp16> {
  using Type = __half;
};
template <>
struct DeviceElement<InputType::Fp32> {
  using Type = float;
};

/// Eight elements as stored in memory: they are converted on use, so that a kernel can keep many
/// of them in registers.
template <InputType kType>
struct RawStep {
  static constexpr int kWords = kStep * sizeof(typename DeviceElement<kType>::Type) / 4;
  static constexpr int kVectors = kWords / 4;
  std::uint32_t words[kWords];

  __device__ __forceinline__ uint4 vector(int i) const {
    return {words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]};
  }
};

template <InputType kType>
__device__ __forceinline__ RawStep<kType> zero_step() {
  RawStep<kType> raw;
#pragma unroll
  for (int i = 0; i < RawStep<kType>::kWords; ++i) raw.words[i] = 0;
  return raw;
}

/// From what read(i) returns for its vectors of 16 bytes.
template <InputType kType, class Read>
__device__ __forceinline__ RawStep<kType> step_of_vectors(Read read) {
  RawStep<kType> raw;
#pragma unroll
  for (int i = 0; i < RawStep<kType>::kVectors; ++i) {
    const uint4 vector = read(i);
    raw.words[4 * i] = vector.x;
    raw.words[4 * i + 1] = vector.y;
    raw.words[4 * i + 2] = vector.z;
    raw.words[4 * i + 3] = vector.w;
  }
  return raw;
}

/// `step` counts steps of eight elements from the start of the input.
template <InputType kType>
__device__ __forceinline__ RawStep<kType> load_step(const void* input, std::int64_t step) {
  const uint4* vectors = static_cast<const uint4*>(input) + step * RawStep<kType>::kVectors;
  return step_of_vectors<kType>([&](int i) { return __ldg(vectors + i); });
}

template <InputType kType>
__device__ __forceinline__ void store_step(const RawStep<kType>& raw, void* output,
                                           std::int64_t step) {
  uint4* vectors = static_cast<uint4*>(output) + step * RawStep<kType>::kVectors;
#pragma unroll
  for (int i = 0; i < RawStep<kType>::kVectors; ++i) vectors[i] = raw.vector(i);
}

/// Elements 2 * pair and 2 * pair + 1, exact in FP32.
template <InputType kType>
__device__ __forceinline__ float2 step_pair(const RawStep<kType>& raw, int pair) {
  if constexpr (kType == InputType::Bf16) {
    const std::uint32_t word = raw.words[pair];
    return {__uint_as_float(word << 16), __uint_as_float(word & 0xFFFF0000U)};
  } else if constexpr (kType == InputType::Fp16) {
    const std::uint32_t word = raw.words[pair];
    const __half low = __ushort_as_half(static_cast<unsigned short>(word & 0xFFFFU));
    const __half high = __ushort_as_half(static_cast<unsigned short>(word >> 16));
    return {__half2float(low), __half2float(high)};
  } else {
    return {__uint_as_float(raw.words[2 * pair]), __uint_as_float(raw.words[2 * pair + 1])};
  }
}

/// All eight, exact in FP32.
template <InputType kType>
__device__ __forceinline__ void step_values(const RawStep<kType>& raw, float (&values)[kStep]) {
#pragma unroll
  for (int pair = 0; pair < kStep / 2; ++pair) {
    const float2 two = step_pair(raw, pair);
    values[2 * pair] = two.x;
    values[2 * pair + 1] = two.y;
  }
}

/// Two elements rounded to 16 bits each.
template <InputType kType>
__device__ __forceinline__ std::uint32_t pack_pair(float x, float y) {
  if constexpr (kType == InputType::Bf16) {
    const __nv_bfloat162 rounded = __floats2bfloat162_rn(x, y);
    return *reinterpret_cast<const std::uint32_t*>(&rounded);
  } else {
    static_assert(kType == InputType::Fp16);
    const __half2 rounded = __floats2half2_rn(x, y);
    return *reinterpret_cast<const std::uint32_t*>(&rounded);
  }
}

/// Rounds elements 2 * pair and 2 * pair + 1.
template <InputType kType>
__device__ __forceinline__ void set_pair(RawStep<kType>& raw, int pair, float x, float y) {
  if constexpr (kType == InputType::Fp32) {
    raw.words[2 * pair] = __float_as_uint(x);
    raw.words[2 * pair + 1] = __float_as_uint(y);
  } else {
    raw.words[pair] = pack_pair<kType>(x, y);
  }
}

template <InputType kType>
__device__ __forceinline__ void store_element(float value, void* output, std::int64_t element) {
  auto* target = static_cast<typename DeviceElement<kType>::Type*>(output) + element;
  if constexpr (kType == InputType::Bf16) {
    *target = __float2bfloat16_rn(value);
  } else if constexpr (kType == InputType::Fp16) {
    *target = __float2half_rn(value);
  } else {
    *target = value;
  }
}

/// fmaxf drops NaN operands, which is the rule: NaN never reaches an amax, inf does.
template <InputType kType>
__device__ __forceinline__ float step_amax(const RawStep<kType>& raw, float amax) {
#pragma unroll
  for (int pair = 0; pair < kStep / 2; ++pair) {
    const float2 values = step_pair(raw, pair);
    amax = fmaxf(amax, fmaxf(fabsf(values.x), fabsf(values.y)));
  }
  return amax;
}

inline constexpr std::uint32_t kMagnitudes = 0x7FFF7FFFU;

/// Two elements of one 4-byte word, exact in FP32.
template <InputType kType>
__device__ __forceinline__ float2 word_values(std::uint32_t word) {
  RawStep<kType> raw;
  raw.words[0] = word;
  return step_pair(raw, 0);
}

/// Largest magnitude of a few elements: FP32, or two 16-bit halves with any signs.
template <InputType kType>
using AmaxWord = std::conditional_t<kType == InputType::Fp32, float, std::uint32_t>;

template <InputType kType>
__device__ __forceinline__ AmaxWord<kType> max_of_words(AmaxWord<kType> a, AmaxWord<kType> b) {
  if constexpr (kType == InputType::Fp32) {
    return fmaxf(a, b);
  } else {
    std::uint32_t m;  // max of the magnitudes, in one instruction
    if constexpr (kType == InputType::Bf16) {
      asm("max.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(m) : "r"(a), "r"(b));
    } else {
      asm("max.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(m) : "r"(a), "r"(b));
    }
    return m;
  }
}

template <InputType kType>
__device__ __forceinline__ AmaxWord<kType> step_amax_word(const RawStep<kType>& raw) {
  if constexpr (kType == InputType::Fp32) {
    return step_amax(raw, 0.0F);
  } else {
    return max_of_words<kType>(max_of_words<kType>(raw.words[0], raw.words[1]),
                               max_of_words<kType>(raw.words[2], raw.words[3]));
  }
}

template <InputType kType>
__device__ __forceinline__ float word_amax(AmaxWord<kType> word) {
  if constexpr (kType == InputType::Fp32) {
    return word;
  } else {
    const float2 m = word_values<kType>(word & kMagnitudes);
    return fmaxf(fmaxf(m.x, m.y), 0.0F);  // if both were NaN, m still is
  }
}

/// Writes eight codes with one 8-byte store.
template <InputType kType, Fp8Format kFormat>
__device__ __forceinline__ void store_codes(const RawStep<kType>& raw, float scale, uint2* output) {
  constexpr __nv_fp8_interpretation_t kTarget = kFormat == Fp8Format::E4m3 ? __NV_E4M3 : __NV_E5M2;
  std::uint32_t pairs[kStep / 2];
#pragma unroll
  for (int pair = 0; pair < kStep / 2; ++pair) {
    const float2 values = step_pair(raw, pair);
    pairs[pair] = __nv_cvt_float2_to_fp8x2({__fmul_rn(values.x, scale), __fmul_rn(values.y, scale)},
                                           __NV_SATFINITE, kTarget);
  }
  *output = {pairs[0] | (pairs[1] << 16), pairs[2] | (pairs[3] << 16)};
}

/// The same, where `step` counts steps of eight codes.
template <InputType kType, Fp8Format kFormat>
__device__ __forceinline__ void store_codes(const RawStep<kType>& raw, float scale,
                                            std::uint8_t* output, std::int64_t step) {
  store_codes<kType, kFormat>(raw, scale, reinterpret_cast<uint2*>(output) + step);
}

}  // namespace kernels
