// The per-tensor cast where it needs tiles: transposed codes, padded rows, bias partials.
#include "kernels/quantize/quantize_block_tile.cuh"
#include "kernels/quantize/quantize_per_tensor_tile.h"

namespace kernels {

cudaError_t quantize_per_tensor_tile(const QuantizePerTensorArgs& args, LaunchStream stream) {
  const tiles::TileParameters parameters{.args = {.input = args.input,
                                                  .output_rows = args.output_rows,
                                                  .format = args.format,
                                                  .rowwise = {.codes = args.rowwise},
                                                  .columnwise = {.codes = args.columnwise},
                                                  .bias_partials = args.bias_partials,
                                                  .controls = args.controls},
                                         .group_scale = args.scale,
                                         .group_amax = args.amax,
                                         .group_scale_inv = args.scale_inv};
  return tiles::launch_block_tiles<tiles::TileScaling::PerTensor>(parameters, stream);
}

}  // namespace kernels
