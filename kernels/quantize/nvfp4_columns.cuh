// Shared by the NVFP4 workers: two columns of a tile as blocks of 16, and block scales.
#pragma once

#include "kernels/common/micro_scale_rule.h"
#include "kernels/common/tile_work.cuh"
#include "kernels/quantize/e2m1_encode.cuh"
#include "kernels/quantize/quantize_nvfp4.h"

namespace kernels::tiles {

inline constexpr int kNvElements = static_cast<int>(kNvBlock);
inline constexpr int kLineBlocks = kSide / kNvElements;  // blocks per line of a tile

__device__ __forceinline__ float block_amax(const float (&values)[kNvElements]) {
  float amax = 0.0F;
#pragma unroll
  for (int i = 0; i < kNvElements; ++i) amax = fmaxf(amax, fabsf(values[i]));
  return amax;
}

/// A lane's two columns of 16 rows, before and after the transform. The two 16-bit elements of a
/// row are one word, read once; FP32 would take too many registers.
template <InputType kType>
class ColumnPair {
 public:
  __device__ __forceinline__ ColumnPair(const RawTile<kType>& raw, int first_row, int column)
      : raw_(raw), first_row_(first_row), column_(column) {
    if constexpr (kKeeps) {
#pragma unroll
      for (int i = 0; i < kNvElements; ++i) {
        words_[i] = reinterpret_cast<const std::uint32_t*>(raw.row(first_row, i))[column / 2];
      }
    }
  }

  /// One of the two columns; side 0 or 1.
  __device__ __forceinline__ void load(int side, float (&values)[kNvElements]) const {
#pragma unroll
    for (int i = 0; i < kNvElements; ++i) {
      if constexpr (kKeeps) {
        const float2 pair = word_values<kType>(words_[i]);
        values[i] = side == 0 ? pair.x : pair.y;
      } else {
        values[i] = reinterpret_cast<const float*>(raw_.row(first_row_, i))[column_ + side];
      }
    }
  }

  /// Signs of eight rows, half 0 or 1, of one of the columns.
  __device__ __forceinline__ SignWords signs(int side, int half) const {
    if constexpr (!kKeeps) {
      float values[kNvElements];
      load(side, values);
      float eight[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) eight[i] = values[half * 8 + i];
      return signs_of_values(eight);
    }
    const auto of = [&](int odd) {
      const int first = half * 8 + odd;
      const std::uint32_t low = __byte_perm(words_[first], words_[first + 2], 0x7351);
      const std::uint32_t high = __byte_perm(words_[first + 4], words_[first + 6], 0x7351);
      return __byte_perm(low, high, side == 0 ? 0x5410 : 0x7632);
    };
    return {of(0), of(1)};
  }

  __device__ __forceinline__ void load_transformed(int side, float (&values)[kNvElements]) const {
    load(side, values);
    hadamard_16(values);
#pragma unroll
    for (int i = 0; i < kNvElements; i += 2) {
      const float2 pair =
          word_values<InputType::Bf16>(pack_pair<InputType::Bf16>(values[i], values[i + 1]));
      values[i] = pair.x;
      values[i + 1] = pair.y;
    }
  }

  /// Largest magnitudes of the two columns.
  __device__ __forceinline__ float2 amax() const {
    if constexpr (kKeeps) {
      std::uint32_t both = words_[0];
#pragma unroll
      for (int i = 1; i < kNvElements; ++i) both = max_of_words<kType>(both, words_[i]);
      const float2 pair = word_values<kType>(both & kMagnitudes);
      return {fmaxf(pair.x, 0.0F), fmaxf(pair.y, 0.0F)};  // an all-NaN column has none
    } else {
      float left[kNvElements];
      float right[kNvElements];
      load(0, left);
      load(1, right);
      return {block_amax(left), block_amax(right)};
    }
  }

 private:
  static constexpr bool kKeeps = kType != InputType::Fp32;
  const RawTile<kType>& raw_;
  int first_row_;
  int column_;
  std::uint32_t words_[kKeeps ? kNvElements : 1] = {};
};

__device__ __forceinline__ std::uint32_t e4m3_byte(float value) {
  return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
}
__device__ __forceinline__ float e4m3_value(std::uint32_t byte) {
  const __half_raw half = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(byte), __NV_E4M3);
  return __half2float(__half(half));
}

}  // namespace kernels::tiles
