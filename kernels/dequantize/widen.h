// BF16 or FP16 elements as FP32, which holds them exactly: the operands of a lossless reference.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

struct WidenArgs {
  const void* input = nullptr;
  InputType type = InputType::Bf16;  // not Fp32
  float* output = nullptr;
  std::int64_t count = 0;  // multiple of 8
};

void widen_cpu(const WidenArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// Input and output aligned to 16 bytes.
cudaError_t widen(const WidenArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
