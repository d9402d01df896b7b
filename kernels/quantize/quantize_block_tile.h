// Block scaling through tiles in shared memory: everything beyond rowwise codes of unpadded rows.
// Called by the launchers of quantize_block.h.
#pragma once

#include "kernels/quantize/quantize_block.h"

namespace kernels {

#ifdef EXPERTSCOPE_WITH_CUDA
/// `square` = one scale per 128 x 128 elements. Stamps need BF16 input without activation, else
/// cudaErrorNotSupported.
cudaError_t quantize_block_tile(const QuantizeBlockArgs& args, bool square, LaunchStream stream);
#endif

}  // namespace kernels
