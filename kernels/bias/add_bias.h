// The bias of a grouped product, added to the product's rounded output: y = round(y + b), the sum
// in FP32, one row of biases per group.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

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

}  // namespace kernels
