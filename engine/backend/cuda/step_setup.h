// Prepares the inputs of a grouped step from a request: gates, configuration, operands on the
// device. Shared by runs and the graph doctor, so that both examine the same step.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <optional>
#include <vector>

#include "engine/backend/cuda/device_operands.h"
#include "engine/device/buffer.h"
#include "engine/gemm/support.h"
#include "engine/layer/expert_layer_step.h"
#include "engine/layer/micro_batches.h"
#include "engine/linear/grouped_step.h"
#include "engine/model/projections.h"
#include "engine/model/run_result.h"
#include "engine/model/shape.h"
#include "engine/observe/step_observer.h"

namespace engine {

inline constexpr double kUploadShare = 0.3;  // of RunProgress::fraction

/// Fills result.effective, emulated and deviations, or refuses with the gate's sentence.
Status apply_gates(const RunRequest& request, const DeviceCapability& capability,
                   const std::string& library_path, RunResult& result);

/// Reduces a recorded routing to one step if the captured step keeps the splits of its capture.
void keep_captured_step(RunResult& result);

/// Either kind of step, before anything is allocated.
struct StepPlan {
  std::vector<StepPart> parts;                  // step_parts() of the effective request
  std::vector<StepConfig> configs;              // of the parts
  std::optional<ExpertLayerConfig> layer = {};  // of both, if it is one
  LaunchMode launch = {};                       // of the effective request

  std::vector<DeviceOperandKey> operand_keys() const;
  /// Device bytes, operands not counted.
  std::int64_t step_bytes() const;
  std::int64_t numerics_bytes() const;
  /// The layer is launched as MicroBatches.
  bool in_parts() const {
    return layer && (launch.in_flight > 1 || launch.graphs != StepGraphs::One);
  }
};
StepPlan plan_step(const RunResult& result, const GroupedShape& shape,
                   const DeviceCapability& capability);

/// A step with what it owns. `operands` of build_step() owns the rest.
struct BuiltStep {
  std::unique_ptr<DeviceStep> step;
  // The same, by kind: one of them is not null. Of several micro-batches the first.
  GroupedStep* linear = nullptr;
  ExpertLayerStep* layer = nullptr;
  std::vector<DeviceBuffer> biases;
};
/// Uploads what is missing. Values that had to be rounded become deviations of `result`.
Result<BuiltStep> build_step(RunResult& result, const StepPlan& plan,
                             std::shared_ptr<const CublasLt> library, DeviceOperands& operands,
                             cudaStream_t stream, RunContext context);

}  // namespace engine
