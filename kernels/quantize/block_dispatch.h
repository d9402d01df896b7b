// Which launches of block scaling leave the kernels that hold their elements in registers.
#pragma once

#include "kernels/quantize/quantize_block.h"

namespace kernels {

/// Whether a launch needs the tile kernel: a second direction, sums, rows that move, or stamps,
/// which only that kernel has instances for.
inline bool needs_tiles(const QuantizeBlockArgs& args) {
  return args.rowwise.codes == nullptr || args.columnwise.codes != nullptr ||
         args.bias_partials != nullptr || args.output_rows.row_offsets != nullptr ||
         args.controls.stamps.stamps != nullptr;
}

}  // namespace kernels
