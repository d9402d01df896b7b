// The scale of one block, shared by the two block kernels: its two stores on the device.
#pragma once

#include "kernels/quantize/quantize_block.h"

namespace kernels {

/// Stores the inverse scale that a product needs, and the amax if requested.
__device__ __forceinline__ void store_block_scale(const BlockOutput& output, float amax,
                                                  float scale, std::int64_t index) {
  output.scale_inv[index] = __frcp_rn(scale);
  if (output.block_amax != nullptr) output.block_amax[index] = amax;
}

// Which block-scaling launches cannot use the kernels that keep their elements in registers.

/// Whether a launch needs the tile kernel: for a second direction, sums, moved rows, or stamps,
/// for which only that kernel has instances.
inline bool needs_tiles(const QuantizeBlockArgs& args) {
  return args.rowwise.codes == nullptr || args.columnwise.codes != nullptr ||
         args.bias_partials != nullptr || args.output_rows.row_offsets != nullptr ||
         args.controls.stamps.stamps != nullptr;
}

// Block scaling through tiles in shared memory: everything beyond rowwise codes of unpadded rows.
// Called by the launchers of quantize_block.h.

#ifdef EXPERTSCOPE_WITH_CUDA
/// `square` = one scale per 128 x 128 elements. Stamps need BF16 input without activation, else
/// cudaErrorNotSupported.
cudaError_t quantize_block_tile(const QuantizeBlockArgs& args, bool square, LaunchStream stream);
#endif

}  // namespace kernels
