// Shared by the workers of the tile pipeline: maxima of packed elements and codes of a column.
#pragma once

#include "kernels/common/tile.cuh"

namespace kernels::tiles {

/// Lane-wise max of magnitudes, NaN operands dropped.
template <InputType kType>
__device__ __forceinline__ std::uint32_t packed_max(std::uint32_t a, std::uint32_t b) {
  if constexpr (kType == InputType::Bf16) {
    const __nv_bfloat162 m = __hmax2(*reinterpret_cast<const __nv_bfloat162*>(&a),
                                     *reinterpret_cast<const __nv_bfloat162*>(&b));
    return *reinterpret_cast<const std::uint32_t*>(&m);
  } else {
    const __half2 m =
        __hmax2(*reinterpret_cast<const __half2*>(&a), *reinterpret_cast<const __half2*>(&b));
    return *reinterpret_cast<const std::uint32_t*>(&m);
  }
}

template <InputType kType>
__device__ __forceinline__ float packed_step_amax(const RawStep<kType>& raw) {
  if constexpr (kType == InputType::Fp32) {
    return step_amax(raw, 0.0F);
  } else {
    const std::uint32_t low =
        packed_max<kType>(raw.words[0] & kMagnitudes, raw.words[1] & kMagnitudes);
    const std::uint32_t high =
        packed_max<kType>(raw.words[2] & kMagnitudes, raw.words[3] & kMagnitudes);
    const float2 m = word_values<kType>(packed_max<kType>(low, high));
    return fmaxf(fmaxf(m.x, m.y), 0.0F);  // if both were NaN, m still is
  }
}

/// Maximum over the sixteen lanes of each of a thread's eight rows, scattered: lane l of a row gets
/// row l / 2. Eight shuffles instead of 32.
__device__ __forceinline__ float scatter_row_amax(float (&amax)[kPasses]) {
  const int lane = static_cast<int>(threadIdx.x) & (kLanesPerRow - 1);
#pragma unroll
  for (int half = kPasses / 2; half > 0; half /= 2) {
    const bool upper = (lane & (2 * half)) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float kept = upper ? amax[i + half] : amax[i];
      const float given = upper ? amax[i] : amax[i + half];
      amax[i] = fmaxf(kept, __shfl_xor_sync(kFullWarp, given, 2 * half));
    }
  }
  return fmaxf(amax[0], __shfl_xor_sync(kFullWarp, amax[0], 1));
}

/// Codes of four rows of one column as one word.
template <Fp8Format kFormat>
__device__ __forceinline__ std::uint32_t column_word(float a, float b, float c, float d,
                                                     float scale) {
  constexpr __nv_fp8_interpretation_t kTarget = kFormat == Fp8Format::E4m3 ? __NV_E4M3 : __NV_E5M2;
  const std::uint32_t low =
      __nv_cvt_float2_to_fp8x2({__fmul_rn(a, scale), __fmul_rn(b, scale)}, __NV_SATFINITE, kTarget);
  const std::uint32_t high =
      __nv_cvt_float2_to_fp8x2({__fmul_rn(c, scale), __fmul_rn(d, scale)}, __NV_SATFINITE, kTarget);
  return low | (high << 16);
}

/// Stores sixteen codes of a transposed line, `valid` of them real, to an address aligned like the
/// line length: 16, 4 or 1 byte.
__device__ __forceinline__ void store_piece(std::uint8_t* target, const uint4& piece, int valid,
                                            int alignment) {
  if (alignment == 16) {
    *reinterpret_cast<uint4*>(target) = piece;
    return;
  }
  const std::uint32_t words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    if (alignment == 4 && 4 * word + 4 <= valid) {
      reinterpret_cast<std::uint32_t*>(target)[word] = words[word];
    } else {
#pragma unroll
      for (int byte = 0; byte < 4; ++byte) {
        if (4 * word + byte < valid) {
          target[4 * word + byte] = static_cast<std::uint8_t>(words[word] >> (8 * byte));
        }
      }
    }
  }
}

}  // namespace kernels::tiles
