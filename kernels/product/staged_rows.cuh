// A warp's share of D on its way from registers to memory: 16 rows, 128 bytes of each at a time,
// through shared memory, so that what is written at a time is whole lines.
#pragma once

#include "kernels/common/input_vectors.cuh"
#include "kernels/common/stage_barrier.cuh"
#include "kernels/product/tensor_core.cuh"

namespace kernels::products {

/// Unit u of 16 bytes of row r is at u ^ (r % 8): the swizzle of the copy engine.
using StagedRows = std::uint8_t[16][128];

template <InputType kType>
inline constexpr int kElementBytes = kType == InputType::Fp32 ? 4 : 2;
/// Columns of D in 128 bytes, and how many such pieces a tile of 128 columns has.
template <InputType kType>
inline constexpr int kPieceColumns = 128 / kElementBytes<kType>;
template <InputType kType>
inline constexpr int kPieces = 128 / kPieceColumns<kType>;

/// Piece `piece` of the sums that this warp holds of a 64 x 128 product.
template <InputType kType>
__device__ __forceinline__ void stage_rows(StagedRows& rows, int piece,
                                           const float (&sums)[kFragment]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (kElementBytes<kType> == 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int first = 4 * (piece * 8 + i * 2);
      const int row = lane % 16;
      const std::uint32_t to = shared_address(&rows[row][(((2 * i + lane / 16) ^ (row % 8)) * 16)]);
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                   "r"(pack_pair<kType>(sums[first], sums[first + 1])),
                   "r"(pack_pair<kType>(sums[first + 2], sums[first + 3])),
                   "r"(pack_pair<kType>(sums[first + 4], sums[first + 5])),
                   "r"(pack_pair<kType>(sums[first + 6], sums[first + 7]))
                   : "memory");
    }
  } else {
    const int row = lane / 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int first = 4 * (piece * 4 + i);
      const int at = (((2 * i + lane % 4 / 2) ^ row) * 16) + lane % 2 * 8;
      *reinterpret_cast<float2*>(&rows[row][at]) = {sums[first], sums[first + 1]};
      *reinterpret_cast<float2*>(&rows[row + 8][at]) = {sums[first + 2], sums[first + 3]};
    }
  }
}

}  // namespace kernels::products
