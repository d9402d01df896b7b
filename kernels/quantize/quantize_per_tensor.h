// FP8 per-tensor scaling: one scale per group, from this tensor's amax (current scaling) or from
// earlier ones (delayed scaling, amax/delayed_scaling.h), and the cast.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

struct PerTensorScaleArgs {
  const float* amax = nullptr;  // [num_groups]
  int num_groups = 0;
  Fp8Format format = Fp8Format::E4m3;
  ScaleOptions options = {};
  float* scale = nullptr;       // [num_groups]
  float* scale_inv = nullptr;   // [num_groups], 1 / scale rounded to nearest
  const float* noop = nullptr;  // optional scalar: 1 = leave scale and scale_inv unchanged
};

struct QuantizePerTensorArgs {
  GroupedInput input;
  OutputRows output_rows = {};
  Fp8Format format = Fp8Format::E4m3;
  const float* scale = nullptr;        // [num_groups]
  std::uint8_t* rowwise = nullptr;     // [m, columns] per group; null = skip this direction
  std::uint8_t* columnwise = nullptr;  // [columns, m] per group, starting at element
                                       // row_offsets[g] * columns; null = skip this direction
  /// Delayed scaling, both optional: raised to the group's max |x| (the caller's history row), and
  /// 1 / scale rounded to nearest.
  float* amax = nullptr;       // [num_groups]
  float* scale_inv = nullptr;  // [num_groups]
  /// Optional: sums of the input's columns, see bias/bias.h.
  float* bias_partials = nullptr;
  LaunchControls controls = {};
};

void per_tensor_scale_cpu(const PerTensorScaleArgs& args);
void quantize_per_tensor_cpu(const QuantizePerTensorArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
cudaError_t per_tensor_scale(const PerTensorScaleArgs& args, LaunchStream stream);
cudaError_t quantize_per_tensor(const QuantizePerTensorArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
