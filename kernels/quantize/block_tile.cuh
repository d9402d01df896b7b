// One 128 x 128 tile of a block-scaled operand: read once into registers and shared memory, written
// as rowwise codes from the registers and as transposed columnwise codes through shared memory.
//
// Rowwise, a warp owns 16 rows and sixteen lanes a row, 8 elements each. Columnwise, a thread owns
// two neighbouring columns (one 4-byte word of a 16-bit row, so that a warp reads a row without
// bank conflicts) of 32 rows; four codes of a column make one word before they leave the registers.
#pragma once

#include "kernels/common/activated_step.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/sum_table.cuh"
#include "kernels/quantize/block_scale.cuh"

namespace kernels::block_tile {

inline constexpr int kSide = static_cast<int>(kBlock);
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kLanesPerRow = kSide / kStep;
inline constexpr int kPasses = kSide * kSide / kStep / kThreads;  // vectors of one thread
inline constexpr int kPairs = kSide / 2;
inline constexpr int kSegments = kThreads / kPairs;  // of the rows, columnwise
inline constexpr int kSegmentRows = kSide / kSegments;
inline constexpr int kSumTables = 3;

/// Two neighbouring elements of a row, as they lie in shared memory.
template <InputType kType>
using RawPair = std::conditional_t<kType == InputType::Fp32, float2, std::uint32_t>;

template <InputType kType>
struct TileMemory {
  RawPair<kType> raw[kSide][kPairs];
  uint4 transposed[kSide][kSide / 16];  // [column][16 rows], 16-byte pieces swizzled
  float2 amax[kSegments][kPairs];
  float2 bias[kSegments][kPairs];
  float warp_amax[2][kWarps];
  std::int32_t warp_totals[kSumTables * 32];
};

template <InputType kType>
__device__ __forceinline__ float2 pair_values(RawPair<kType> pair) {
  if constexpr (kType == InputType::Fp32) {
    return pair;
  } else {
    RawStep<kType> raw;
    raw.words[0] = pair;
    return step_pair(raw, 0);
  }
}

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
    constexpr std::uint32_t kMagnitudes = 0x7FFF7FFFU;
    const std::uint32_t low =
        packed_max<kType>(raw.words[0] & kMagnitudes, raw.words[1] & kMagnitudes);
    const std::uint32_t high =
        packed_max<kType>(raw.words[2] & kMagnitudes, raw.words[3] & kMagnitudes);
    const float2 m = pair_values<kType>(packed_max<kType>(low, high));
    return fmaxf(fmaxf(m.x, m.y), 0.0F);  // NaN against NaN stayed NaN until here
  }
}

/// Maximum over the sixteen lanes of each of a thread's eight rows, scattered: lane l of a row ends
/// up with row l / 2. Eight shuffles instead of 32.
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

__device__ __forceinline__ std::uint64_t global_time_ns() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__device__ __forceinline__ std::uint32_t multiprocessor() {
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

/// Sixteen codes of a transposed line that has `valid` of them, to an address whose alignment is
/// that of the line length.
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

}  // namespace kernels::block_tile
