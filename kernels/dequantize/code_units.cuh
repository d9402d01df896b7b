// Codes of a few adjacent elements as FP32 values: 4 or 8 along a row, or 16 down a column of
// transposed codes, which need not be aligned there.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/dequantize/group_view.h"

namespace kernels {

/// Two FP8 codes, exact: every FP8 value is an FP16 value.
__device__ __forceinline__ float2 fp8_pair(std::uint32_t pair, Fp8Format format) {
  const auto storage = static_cast<__nv_fp8x2_storage_t>(pair);
  const __half2_raw halves = format == Fp8Format::E4m3
                                 ? __nv_cvt_fp8x2_to_halfraw2(storage, __NV_E4M3)
                                 : __nv_cvt_fp8x2_to_halfraw2(storage, __NV_E5M2);
  return __half22float2(__half2(halves));
}

/// E2M1 codes in the low four bits of each half of `pair`: read with FP16's exponent bias they are
/// 2^14 too small.
__device__ __forceinline__ float2 e2m1_pair(std::uint32_t pair) {
  const std::uint32_t bits = (pair & 0x00070007U) << 9 | (pair & 0x00080008U) << 12;
  const __half2 scale = __half2half2(__ushort_as_half(0x7400));  // 2^14
  return __half22float2(__hmul2(*reinterpret_cast<const __half2*>(&bits), scale));
}

template <int kCount>
__device__ __forceinline__ void unit_values(const std::uint32_t* words, bool e2m1, Fp8Format format,
                                            float (&values)[kCount]) {
  if (e2m1) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      // Codes i and i + 4 of a word lie 16 bits apart.
      if (i % 8 >= 4) continue;
      const float2 pair = e2m1_pair(words[i / 8] >> (4 * (i % 8)));
      values[i] = pair.x;
      if (i + 4 < kCount) values[i + 4] = pair.y;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    const float2 pair = fp8_pair((words[i / 4] >> (8 * (i % 4))) & 0xFFFFU, format);
    values[i] = pair.x;
    values[i + 1] = pair.y;
  }
}

/// kCount (4 or 8) codes starting at element `element` of the group, in the low bits of one or two
/// words.
template <int kCount>
__device__ __forceinline__ uint2 load_row_unit(const GroupView& group, std::int64_t element) {
  if constexpr (kCount == 8) {
    if (group.e2m1()) {
      return {__ldg(reinterpret_cast<const unsigned*>(group.codes + element / 2)), 0U};
    }
    return __ldg(reinterpret_cast<const uint2*>(group.codes + element));
  } else {
    static_assert(kCount == 4);
    if (group.e2m1()) {
      return {__ldg(reinterpret_cast<const unsigned short*>(group.codes + element / 2)), 0U};
    }
    return {__ldg(reinterpret_cast<const unsigned*>(group.codes + element)), 0U};
  }
}

/// A word that may extend past `end`; bytes beyond it are not read.
__device__ inline std::uint32_t load_guarded_word(const std::uint8_t* word,
                                                  const std::uint8_t* end) {
  if (word + 4 <= end) return __ldg(reinterpret_cast<const unsigned*>(word));
  std::uint32_t bytes = 0;
  for (int i = 0; i < 3; ++i) {
    if (word + i < end) bytes |= std::uint32_t{__ldg(word + i)} << (8 * i);
  }
  return bytes;
}

/// Sixteen codes of transposed line `column`, starting at `row`; those beyond the group's rows are
/// unspecified. E2M1 lines are whole blocks of 16: two words.
__device__ __forceinline__ uint4 load_column_unit(const GroupView& group, std::int64_t columns,
                                                  std::int64_t row, std::int64_t column) {
  const std::int64_t element = column * group.column_pitch + row;
  if (group.e2m1()) {
    const uint2 codes = __ldg(reinterpret_cast<const uint2*>(group.codes + element / 2));
    return {codes.x, codes.y, 0U, 0U};
  }
  const std::uint8_t* codes = group.codes + element;
  const auto misaligned = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(codes) % 16);
  if (misaligned == 0 && row + 16 <= group.rows) {
    return __ldg(reinterpret_cast<const uint4*>(codes));
  }
  const std::uint8_t* end = group.codes + (columns - 1) * group.column_pitch + group.rows;
  const std::uint8_t* first = codes - misaligned % 4;
  std::uint32_t words[5];
#pragma unroll
  for (int i = 0; i < 5; ++i) words[i] = load_guarded_word(first + 4 * i, end);
  const unsigned shift = misaligned % 4 * 8;
  return {__funnelshift_r(words[0], words[1], shift), __funnelshift_r(words[1], words[2], shift),
          __funnelshift_r(words[2], words[3], shift), __funnelshift_r(words[3], words[4], shift)};
}

}  // namespace kernels
