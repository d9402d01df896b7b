// The bias of a grouped product, and its gradient.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

/// The bias is added to the product's rounded output: y = round(y + b), the sum in FP32, one row of
/// biases per group.
struct AddBiasArgs {
  void* values = nullptr;  // [capacity_rows, columns]; rows outside all groups are unchanged
  InputType type = InputType::Bf16;
  const void* bias = nullptr;                 // [num_groups, columns]
  InputType bias_type = InputType::Bf16;      // BF16 or FP16
  const std::int64_t* row_offsets = nullptr;  // [num_groups + 1]
  int num_groups = 0;
  std::int64_t capacity_rows = 0;
  std::int64_t columns = 0;  // multiple of 8
};

void add_bias_cpu(const AddBiasArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// Values and bias aligned to 16 bytes.
cudaError_t add_bias(const AddBiasArgs& args, LaunchStream stream);
#endif

// The gradient sums each group's columns in a fixed order, so that every way to compute it (fused
// into a quantize pass, alone, on the CPU) gives the same bits.

/// The order: a group is cut into strips of kBiasStripRows = 128 rows, a strip into 8 segments of
/// 16 rows. A segment sums its rows from the top, FP32, starting from +0; missing rows count as +0.
/// The segments combine as ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)): the strip's partial.
/// A group's gradient is the FP32 sum of its strips' partials from the top, starting from +0,
/// rounded to the output type. It sums what would be quantized: with an activation its rounded
/// values, or their gradient.
///
/// Partials: [strips, columns] FP32, the groups' strips in order.
constexpr std::int64_t bias_partial_capacity(std::int64_t capacity_rows, int num_groups,
                                             std::int64_t columns) {
  return (capacity_rows / kBiasStripRows + num_groups) * columns;
}

struct BiasPartialsArgs {
  GroupedInput input;
  float* partials = nullptr;
};

struct ReduceBiasGradientArgs {
  const float* partials = nullptr;
  const std::int64_t* row_offsets = nullptr;  // [num_groups + 1], of the input
  int num_groups = 0;
  std::int64_t columns = 0;
  InputType output_type = InputType::Bf16;
  void* gradient = nullptr;  // [num_groups, columns]; zeros for an empty group
  bool accumulate = false;   // add the sum to the existing value in FP32, then round
};

void bias_partials_cpu(const BiasPartialsArgs& args);
void reduce_bias_gradient_cpu(const ReduceBiasGradientArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
cudaError_t bias_partials(const BiasPartialsArgs& args, LaunchStream stream);
cudaError_t reduce_bias_gradient(const ReduceBiasGradientArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
