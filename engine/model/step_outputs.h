// The outputs of a step, where a caller gives memory for them. Plain values: the same checks for
// the device and for the CPU.
#pragma once

#include <optional>
#include <vector>

#include "engine/model/caller_tensor.h"
#include "engine/model/error.h"

namespace engine {

/// Where the caller wants the outputs of one layer; the step allocates what is not given. A tensor
/// may have more rows than its output; nothing is written past the demanded ones.
/// What does not fit is refused by name, and so is one that the step's passes do not write.
struct CallerOutputs {
  std::optional<CallerTensor> y;
  std::optional<CallerTensor> dx;
  std::optional<CallerTensor> dw;             // with linear.accumulate_wgrad it is added to
  std::optional<CallerTensor> bias_gradient;  // layer 0 only
};

/// Of one layer, wherever they lie.
struct LayerOutputs {
  void* y = nullptr;              // [capacity_rows, n]
  void* dx = nullptr;             // [capacity_rows, k]
  void* dw = nullptr;             // [num_groups * n, k] of linear.wgrad_type
  void* bias_gradient = nullptr;  // [num_groups, n]; the same for every layer, so only layer 0's
};

/// What a step writes.
struct OutputShape {
  int layers = 1;
  int num_groups = 0;
  std::int64_t capacity_rows = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  ElementType type = ElementType::Bf16;        // of Y and dX
  ElementType wgrad_type = ElementType::Bf16;  // of dW
  ElementType bias_type = ElementType::Bf16;   // of db
  bool forward = true;
  bool backward = false;
  bool bias = false;
  int device = 0;  // or kHostMemory
};

/// The caller's outputs where they were given, null elsewhere; one a layer. InvalidArgument names
/// the output and the attribute.
Result<std::vector<LayerOutputs>> take_outputs(const OutputShape& shape,
                                               const std::vector<CallerOutputs>& outputs);

}  // namespace engine
