// The tensors that a step reads and writes for its caller, and what is checked of them before any
// launch. All are row-major on the device, in the recipe's high_precision type unless noted, and
// outlive the step.
#pragma once

#include <memory>
#include <vector>

#include "engine/linear/step_config.h"
#include "engine/model/caller_tensor.h"
#include "engine/model/error.h"

namespace engine {

class StepOperand;

struct StepOperands {
  // One that all layers read, or one per layer (ProjectionProgram::operands()):
  std::vector<OperandInput> activations = {};  // [capacity_rows, k]
  std::vector<OperandInput> gradients = {};    // [capacity_rows, n]; backward only
  std::vector<const void*> weights = {};       // a layer: [num_groups * n, k]
  /// With WeightStorage::List, a layer: its experts' tensors, in any memory, validated by create(),
  /// which fills in their devices. Empty = a list of views into `weights`.
  std::vector<std::vector<ListedWeight>> weight_lists = {};
  std::vector<const void*> biases = {};  // a layer: [num_groups, n]; with products.bias only
  /// GroupedStep::quantized_weights() of the micro-batch that makes them; null: this step's own.
  std::shared_ptr<const std::vector<StepOperand>> quantized_weights = nullptr;
};

/// One expert's [n, k] as this step demands it.
ListedWeight listed_weight(const StepConfig& config, const void* values);

/// The lists of all layers, with the devices their tensors lie on: those of `operands`, or views
/// into its grouped weights. Empty without WeightStorage::List. InvalidArgument names layer,
/// expert and attribute.
Result<std::vector<std::vector<ListedWeight>>> weight_lists(const StepConfig& config,
                                                            const StepOperands& operands);

/// take_outputs() of this step, with the tensors' actual devices.
Result<std::vector<LayerOutputs>> caller_outputs(const StepConfig& config,
                                                 std::vector<CallerOutputs> outputs);

}  // namespace engine
