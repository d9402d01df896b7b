// The per-tensor cast through tiles in shared memory: everything beyond rowwise codes of unpadded
// rows. Called by the launcher of quantize_per_tensor.h, which checks the operands.
#pragma once

#include "kernels/quantize/quantize_per_tensor.h"

namespace kernels {

#ifdef EXPERTSCOPE_WITH_CUDA
/// Stamps need BF16 input without activation, else cudaErrorNotSupported.
cudaError_t quantize_per_tensor_tile(const QuantizePerTensorArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
