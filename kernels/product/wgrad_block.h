// Weight gradients of FP8 block scaling, all groups in one launch: D_g = dY_g^T X_g over the rows
// of group g, from columnwise copies whose lines are joined (OutputRows::joined).
#pragma once

#include "kernels/common/types.h"
#include "kernels/product/scaled_codes.h"

namespace kernels {

/// D[g, n, k] = sum over the blocks b of 128 rows of group g of
///                scale_y[b, n] * scale_x[b, k] * (sum over the rows t of b of y[n, t] * x[k, t])
/// The inner sum is the tensor core's (FP32 accumulators, products aligned before they are added),
/// the outer one is FP32 in the order of the blocks: acc = fma(inner * scale_x, scale_y, acc).
/// Every element is computed by one thread in a fixed order, so that results are the same bits in
/// every launch, on any number of multiprocessors. A group without rows gives 0.
///
/// Operands are the columnwise copies that quantize_block_lines() makes with joined lines:
///   codes [lines, capacity_rows]   line l is column l of the operand
///   scale_inv [blocks, lines]      groups one after another, blocks of 128 rows each
struct WgradBlockArgs {
  ScaledCodes y;                                // lines of D's rows: gradients, `n` of them
  ScaledCodes x;                                // lines of D's columns: activations, `k` of them
  const std::int64_t* row_offsets = nullptr;    // [num_groups + 1]: rows of the groups
  const std::int64_t* first_columns = nullptr;  // [num_groups + 1]: where a group's codes begin in
                                                // each line, a multiple of kJoinedUnit
  int num_groups = 0;
  std::int64_t capacity_rows = 0;  // codes per line, a multiple of kJoinedUnit
  std::int64_t n = 0;              // multiples of 16
  std::int64_t k = 0;
  void* gradient = nullptr;          // [num_groups, n, k] row-major, 16-byte aligned
  InputType type = InputType::Bf16;  // of its elements
  /// D += instead of D =, rounded once.
  bool accumulate = false;
  StampBuffer stamps = {};  // of tiles of 192 x 128 elements of D; CPU twins write none
};

/// Rows of blocks for which scale_inv has to be allocated.
constexpr std::int64_t wgrad_scale_blocks(std::int64_t capacity_rows, int num_groups) {
  return capacity_rows / kBlock + num_groups;
}

/// Tiles of a launch, each with a stamp.
std::int64_t wgrad_block_tiles(const WgradBlockArgs& args);

/// The same sums without a tensor core: the inner one in FP32, row by row. The same bits as on the
/// device where every inner sum is exact; otherwise they differ by the tensor core's rounding.
void wgrad_block_cpu(const WgradBlockArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// Compute capability 9.0. No workspace, no host synchronisation: the splits are read on the
/// device, so a replayed graph follows new ones. cudaErrorInvalidValue for operands that the copy
/// engine cannot address (see above), cudaErrorNotSupported on other devices.
cudaError_t wgrad_block(const WgradBlockArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
