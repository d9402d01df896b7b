// Instances of the tile kernel with a scale for 128 elements of a row or a column.
#include "kernels/quantize/quantize_block_tile.cuh"

namespace kernels::block_tile {

template cudaError_t launch_tile<TileScaling::Block1x128>(const TileParameters& parameters,
                                                          cudaStream_t stream);

}  // namespace kernels::block_tile
