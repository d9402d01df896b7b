// The tensors that a step reads and writes for its caller, and what is checked of them before any
// launch. All are row-major on the device, in the recipe's high_precision type where nothing else
// is said, and outlive the step.
#pragma once

#include <optional>
#include <vector>

#include "engine/linear/step_config.h"
#include "engine/model/caller_tensor.h"
#include "engine/model/error.h"

namespace engine {

struct StepOperands {
  const void* activations = nullptr;      // [capacity_rows, k]
  const void* gradients = nullptr;        // [capacity_rows, n]; backward only
  std::vector<const void*> weights = {};  // a layer: [num_groups * n, k]
  /// With WeightStorage::List, a layer: its experts' tensors, allocated anyhow and validated by
  /// create(), which fills in the devices they lie on. Empty = a list of views into `weights`.
  std::vector<std::vector<ListedWeight>> weight_lists = {};
  std::vector<const void*> biases = {};  // a layer: [num_groups, n]; with linear.bias only
};

/// Where the caller wants the outputs of one layer; the step allocates what is not given. A tensor
/// may have more rows than its output; nothing is written past the demanded ones. create() refuses
/// what does not fit, and one that the step's passes do not write, by name; it fills in the
/// devices.
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

/// One expert's [n, k] as this step demands it.
ListedWeight listed_weight(const StepConfig& config, const void* values);

/// The lists of all layers, with the devices their tensors lie on: those of `operands`, or views
/// into its grouped weights. Empty without WeightStorage::List. InvalidArgument names layer,
/// expert and attribute.
Result<std::vector<std::vector<ListedWeight>>> weight_lists(const StepConfig& config,
                                                            const StepOperands& operands);

/// The caller's outputs where they were given, null elsewhere; one a layer.
Result<std::vector<LayerOutputs>> caller_outputs(const StepConfig& config,
                                                 const std::vector<CallerOutputs>& outputs);

}  // namespace engine
