// An activation alone, or its gradient: FP32, rounded to the input's type. The fused quantize
// kernels (GroupedInput::activation) produce the same bits as this followed by a plain quantize
// kernel.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

struct ActivateArgs {
  GroupedInput input;      // with an activation
  void* output = nullptr;  // [capacity_rows, columns] of the input's type; NaN is 0x7FFF (16-bit)
                           // or 0x7FFFFFFF
};

void activate_cpu(const ActivateArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
cudaError_t activate(const ActivateArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
