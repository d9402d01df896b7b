// Instances of the tile kernel with one scale per tile, and the choice between the two.
#include "kernels/quantize/quantize_block_tile.cuh"

namespace kernels {
namespace tiles {

extern template cudaError_t launch_block_tiles<TileScaling::Block1x128>(
    const TileParameters& parameters, LaunchStream stream);

}  // namespace tiles

cudaError_t quantize_block_tile(const QuantizeBlockArgs& args, bool square, LaunchStream stream) {
  const GroupedInput& input = args.input;
  for (const std::uint8_t* codes : {args.rowwise.codes, args.columnwise.codes}) {
    if (const cudaError_t bad = check_operands(input, codes); bad != cudaSuccess) return bad;
  }
  if (input.num_groups == 0) return cudaSuccess;
  const tiles::TileParameters parameters{.args = args, .rule = block_scale_rule(args)};
  using tiles::TileScaling;
  return square ? tiles::launch_block_tiles<TileScaling::Block128x128>(parameters, stream)
                : tiles::launch_block_tiles<TileScaling::Block1x128>(parameters, stream);
}

}  // namespace kernels
