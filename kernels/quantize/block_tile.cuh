// One 128 x 128 tile of a block-scaled operand: brought to shared memory by a warp of its own while
// the tile before it is worked on, then read from there twice.
//
// Rowwise, a warp owns 16 rows and sixteen lanes a row, 8 elements each. Columnwise, a warp owns 16
// columns and a lane two of them in 32 rows, so that a column's amax needs two shuffles and its
// transposed line never leaves the warp: warps need not wait for each other. Four codes of a column
// make one word before they leave the registers; eight lines at a time pass through the warp's own
// 1 KiB to leave as whole 128-byte lines. 16-byte pieces of a row are permuted by the row's
// segment, and pieces of a line by its column, so that no access has bank conflicts.
#pragma once

#include "kernels/common/activated_step.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/stage_barrier.cuh"
#include "kernels/common/sum_table.cuh"
#include "kernels/quantize/block_scale.cuh"

namespace kernels::block_tile {

inline constexpr int kSide = static_cast<int>(kBlock);
inline constexpr int kWarps = kThreads / 32;         // that work
inline constexpr int kBlockThreads = kThreads + 32;  // and one that brings tiles
inline constexpr int kLanesPerRow = kSide / kStep;
inline constexpr int kPasses = kSide * kSide / kStep / kThreads;  // steps of one thread, rowwise
inline constexpr int kWarpPairs = kSide / 2 / kWarps;             // column pairs of a warp
inline constexpr int kSegments = 32 / kWarpPairs;                 // of the rows, columnwise
inline constexpr int kSegmentRows = kSide / kSegments;
inline constexpr int kWarpLines = kSide / kWarps;  // rows of a warp, rowwise
static_assert(kWarpPairs == 8 && kSegmentRows == 32);

/// 16-byte pieces of a row of the tile.
template <InputType kType>
inline constexpr int kRowPieces = kSide * RawStep<kType>::kWords / kStep / 4;

/// The elements of a tile. Rows of different segments are read together, one pair of neighbouring
/// columns each, so every segment starts a few banks later than the one before.
template <InputType kType>
struct RawTile {
  static constexpr int kPadding = kRowPieces<kType> / kWarps;  // pieces that a warp reads of a row
  uint4 pieces[kSide * kRowPieces<kType> + kSegments * kPadding];

  __device__ __forceinline__ uint4* row(int line) {
    return &pieces[line * kRowPieces<kType> + line / kSegmentRows * kPadding];
  }
  __device__ __forceinline__ const uint4* row(int line) const {
    return &pieces[line * kRowPieces<kType> + line / kSegmentRows * kPadding];
  }
};

template <InputType kType, int kStages>
struct TileMemory {
  RawTile<kType> raw[kStages];
  uint4 lines[kWarps][kWarpPairs][kSide / 16];  // transposed: [column][16 rows]
  float warp_amax[2][kWarps];
};

/// Starts to copy 16 bytes to shared memory without passing registers; zeros where `inside` is
/// false. Copies this small keep the memory busier than bulk copies of single rows do.
__device__ __forceinline__ void copy_piece(uint4* target, const void* source, bool inside) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(target));
  const int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(source),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void copy_piece(uint4* target, const void* source) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(target));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(source) : "memory");
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

inline constexpr std::uint32_t kMagnitudes = 0x7FFF7FFFU;

/// Two elements of one 4-byte word, exact in FP32.
template <InputType kType>
__device__ __forceinline__ float2 word_values(std::uint32_t word) {
  RawStep<kType> raw;
  raw.words[0] = word;
  return step_pair(raw, 0);
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

/// Sixteen codes of a transposed line, `valid` of them real, to an address that is aligned like the
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

}  // namespace kernels::block_tile
