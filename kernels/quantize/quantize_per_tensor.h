// FP8 per-tensor current scaling: one scale a group from its amax, then the cast.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

struct PerTensorScaleArgs {
  const float* amax = nullptr;  // [num_groups]
  int num_groups = 0;
  Fp8Format format = Fp8Format::E4m3;
  ScaleOptions options = {};
  float* scale = nullptr;      // [num_groups]
  float* scale_inv = nullptr;  // [num_groups], 1 / scale rounded to nearest
};

struct QuantizePerTensorArgs {
  GroupedInput input;
  Fp8Format format = Fp8Format::E4m3;
  const float* scale = nullptr;    // [num_groups]
  std::uint8_t* output = nullptr;  // [capacity_rows, columns] rowwise FP8 codes
};

void per_tensor_scale_cpu(const PerTensorScaleArgs& args);
void quantize_per_tensor_cpu(const QuantizePerTensorArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
cudaError_t per_tensor_scale(const PerTensorScaleArgs& args, cudaStream_t stream);
cudaError_t quantize_per_tensor(const QuantizePerTensorArgs& args, cudaStream_t stream);
#endif

}  // namespace kernels
