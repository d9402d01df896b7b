// Instances of the tile kernel with one scale for a whole tile, and the choice between the two.
#include "kernels/quantize/quantize_block_tile.cuh"

namespace kernels {
namespace block_tile {

extern template cudaError_t launch_tile<false>(const QuantizeBlockArgs& args, cudaStream_t stream);

}  // namespace block_tile

cudaError_t quantize_block_tile(const QuantizeBlockArgs& args, bool square, cudaStream_t stream) {
  const GroupedInput& input = args.input;
  for (const std::uint8_t* codes : {args.rowwise.codes, args.columnwise.codes}) {
    if (const cudaError_t bad = check_operands(input, codes); bad != cudaSuccess) return bad;
  }
  if (input.num_groups == 0) return cudaSuccess;
  return square ? block_tile::launch_tile<true>(args, stream)
                : block_tile::launch_tile<false>(args, stream);
}

}  // namespace kernels
