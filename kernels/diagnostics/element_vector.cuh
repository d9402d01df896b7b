// Eight adjacent elements as FP32, read with 16-byte loads (8-byte ones for FP8 codes).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/common/formats.h"
#include "kernels/diagnostics/group_walk.cuh"

namespace kernels {

struct FloatVector {
  float value[kWalkVector];
};

template <InputType kType>
__device__ FloatVector load_floats(const void* base, std::int64_t element) {
  FloatVector result;
  if constexpr (kType == InputType::Fp32) {
    const float4* source =
        reinterpret_cast<const float4*>(static_cast<const float*>(base) + element);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float4 four = source[half];
      result.value[half * 4 + 0] = four.x;
      result.value[half * 4 + 1] = four.y;
      result.value[half * 4 + 2] = four.z;
      result.value[half * 4 + 3] = four.w;
    }
  } else {
    const uint4 raw =
        *reinterpret_cast<const uint4*>(static_cast<const std::uint16_t*>(base) + element);
    const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      if constexpr (kType == InputType::Bf16) {
        result.value[pair * 2] = __uint_as_float(words[pair] << 16);
        result.value[pair * 2 + 1] = __uint_as_float(words[pair] & 0xFFFF0000U);
      } else {
        const std::uint16_t low = static_cast<std::uint16_t>(words[pair]);
        const std::uint16_t high = static_cast<std::uint16_t>(words[pair] >> 16);
        result.value[pair * 2] = __half2float(__ushort_as_half(low));
        result.value[pair * 2 + 1] = __half2float(__ushort_as_half(high));
      }
    }
  }
  return result;
}

struct CodeVector {
  std::uint8_t code[kWalkVector];
};

__device__ inline CodeVector load_codes(const std::uint8_t* base, std::int64_t element) {
  const uint2 raw = *reinterpret_cast<const uint2*>(base + element);
  CodeVector result;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    result.code[i] = static_cast<std::uint8_t>(raw.x >> (8 * i));
    result.code[i + 4] = static_cast<std::uint8_t>(raw.y >> (8 * i));
  }
  return result;
}

/// Exact: every FP8 value is an FP16 value, and every FP16 value an FP32 one.
template <Fp8Format kFormat>
__device__ float decode_fp8(std::uint8_t code) {
  constexpr __nv_fp8_interpretation_t kKind = kFormat == Fp8Format::E4m3 ? __NV_E4M3 : __NV_E5M2;
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, kKind)));
}

}  // namespace kernels
