// Instances of the tile kernel with one scale for a whole tile, and the choice between the two.
#include "kernels/quantize/quantize_block_tile.cuh"

namespace kernels {
namespace block_tile {

extern template cudaError_t launch_tile<TileScaling::Block1x128>(const TileParameters& parameters,
                                                                 cudaStream_t stream);

}  // namespace block_tile

cudaError_t quantize_block_tile(const QuantizeBlockArgs& args, bool square, cudaStream_t stream) {
  const GroupedInput& input = args.input;
  for (const std::uint8_t* codes : {args.rowwise.codes, args.columnwise.codes}) {
    if (const cudaError_t bad = check_operands(input, codes); bad != cudaSuccess) return bad;
  }
  if (input.num_groups == 0) return cudaSuccess;
  const block_tile::TileParameters parameters{.args = args, .rule = block_scale_rule(args)};
  using block_tile::TileScaling;
  return square ? block_tile::launch_tile<TileScaling::Block128x128>(parameters, stream)
                : block_tile::launch_tile<TileScaling::Block1x128>(parameters, stream);
}

}  // namespace kernels
