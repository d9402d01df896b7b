// FP32 values rounded to BF16 or FP16, as a product of that type would have stored them: for what
// is computed in FP32 in place of a product that has no such inputs.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

struct NarrowArgs {
  const float* input = nullptr;
  void* output = nullptr;            // rounded to nearest even; NaN becomes 0x7FFF
  InputType type = InputType::Bf16;  // of the output, not Fp32
  std::int64_t count = 0;            // multiple of 8
};

void narrow_cpu(const NarrowArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// Input and output aligned to 16 bytes.
cudaError_t narrow(const NarrowArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
