// Instances of the tile kernel with one scale per 128 elements of a row or a column.
#include "kernels/quantize/quantize_block_tile.cuh"

namespace kernels::tiles {

template cudaError_t launch_block_tiles<TileScaling::Block1x128>(const TileParameters& parameters,
                                                                 LaunchStream stream);

}  // namespace kernels::tiles
