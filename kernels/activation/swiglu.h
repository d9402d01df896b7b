// SwiGLU alone: silu(gate) * up, FP32, rounded to the input's type. The fused quantize kernels
// (GroupedInput::activation) produce the same bits as this followed by a plain quantize kernel.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

struct SwigluArgs {
  GroupedInput input;      // activation SwiGlu: [capacity_rows, 2 * columns]
  void* output = nullptr;  // [capacity_rows, columns] of the input's type; NaN is 0x7FFF (16-bit)
                           // or 0x7FFFFFFF
};

void swiglu_cpu(const SwigluArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
cudaError_t swiglu(const SwigluArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
