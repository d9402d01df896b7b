// The outputs of a step in memory given by the caller. Plain values: the same checks for the device
// and the CPU.
#pragma once

#include <optional>
#include <vector>

#include "engine/model/caller_tensor.h"
#include "engine/model/error.h"

namespace engine {

/// The caller's memory for the outputs of one layer; the step allocates the others. A tensor may
/// have more rows than its output; nothing is written past the demanded ones. A tensor that does
/// not fit, or that the step's passes do not write, is refused by name.
struct CallerOutputs {
  std::optional<CallerTensor> y;
  std::optional<CallerTensor> dx;
  std::optional<CallerTensor> dw;             // with linear.accumulate_wgrad it is added to
  std::optional<CallerTensor> bias_gradient;  // layer 0 only
};

/// Outputs of one layer, in host or device memory.
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

/// The caller's outputs if given, else null; one per layer. InvalidArgument names the output and
/// the attribute.
Result<std::vector<LayerOutputs>> take_outputs(const OutputShape& shape,
                                               const std::vector<CallerOutputs>& outputs);

}  // namespace engine
