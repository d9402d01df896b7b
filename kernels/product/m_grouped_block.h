// Products of FP8 block scaling whose groups are ranges of rows (M-grouped), all in one launch:
// D_g = X_g W_g^T. Forward, X is the activations and W the weights; for the gradient of X, X is the
// gradient of Y and W the weights' columnwise copy.
#pragma once

#include "kernels/common/types.h"
#include "kernels/product/scaled_codes.h"

namespace kernels {

/// D[t, c] = sum over the blocks b of 128 of the reduction of
///             (scale_x[t, b] * scale_w[c / 128, b]) * (sum over i of b of x[t, i] * w_g[c, i])
/// for the rows t of group g. The inner sum is the tensor core's (FP32 accumulators, products
/// aligned before they are added), the outer one is FP32 in the order of the blocks:
/// acc = fma(inner, scale_x * scale_w, acc). Every element is computed by one thread in a fixed
/// order, so that results are the same bits in every launch, on any number of multiprocessors.
/// Rows behind the last group are not written.
///
/// With blocks = ceil_div(reduction, 128) and m = rows of the group:
///   x.codes [capacity_rows, reduction]           x.scale_inv of a group [blocks, round_up(m, 4)]
///   w.codes [num_groups, columns, reduction]     w.scale_inv of a group
///                                                  [ceil_div(columns, 128), round_up(blocks, 4)]
/// which is what quantize_block_lines() writes rowwise, and quantize_block_squares() in either
/// direction. Groups follow one another without gaps.
struct MGroupedBlockArgs {
  ScaledCodes x;
  ScaledCodes w;                              // E4M3
  const std::int64_t* row_offsets = nullptr;  // [num_groups + 1]
  int num_groups = 0;
  std::int64_t capacity_rows = 0;  // of x.codes and output
  std::int64_t columns = 0;        // multiples of 16
  std::int64_t reduction = 0;
  void* output = nullptr;            // [capacity_rows, columns], 16-byte aligned
  InputType type = InputType::Bf16;  // of its elements
  /// Rows of D that a thread block computes at a time, with 128 columns: 128, 256, or 0 = what
  /// m_grouped_tile_rows() says. The results are the same bits.
  int tile_rows = 0;
  StampBuffer stamps = {};  // of tiles; CPU twins write none
  /// Optional, {0, 0} before the first launch: thread blocks then take tiles dynamically instead of
  /// round-robin, and leave {0, 0} behind. A pair belongs to one launch at a time. The results are
  /// the same bits.
  std::uint32_t* tickets = nullptr;
};

/// By the average rows of a group: 256 from 160 on. Between 64 rows, where 128 was faster, and 512,
/// where 256 was; nothing between them was measured (kernels/README.md).
int m_grouped_tile_rows(const MGroupedBlockArgs& args);

/// Tiles that a launch has at most, whatever the splits; each has a stamp.
std::int64_t m_grouped_block_tiles(const MGroupedBlockArgs& args);

/// The same sums without a tensor core: the inner one in FP32, element by element. The same bits as
/// on the device where every inner sum is exact.
void m_grouped_block_cpu(const MGroupedBlockArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// Compute capability 9.0. No workspace, no host synchronisation: the splits are read on the
/// device, so a replayed graph follows new ones. cudaErrorInvalidValue for operands that the copy
/// engine cannot address (see above), cudaErrorNotSupported on other devices.
cudaError_t m_grouped_block(const MGroupedBlockArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
