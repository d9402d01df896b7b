// Which block-scaling launches cannot use the kernels that keep their elements in registers.
#pragma once

#include "kernels/quantize/quantize_block.h"

namespace kernels {

/// Whether a launch needs the tile kernel: for a second direction, sums, moved rows, or stamps,
/// for which only that kernel has instances.
inline bool needs_tiles(const QuantizeBlockArgs& args) {
  return args.rowwise.codes == nullptr || args.columnwise.codes != nullptr ||
         args.bias_partials != nullptr || args.output_rows.row_offsets != nullptr ||
         args.controls.stamps.stamps != nullptr;
}

}  // namespace kernels
