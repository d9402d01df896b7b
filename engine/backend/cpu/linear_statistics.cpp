// Expert by expert through the same code as the timed step, so that the statistics describe what
// was timed.
#include "engine/backend/cpu/cpu_linear_step.h"

#include <array>
#include <optional>

#include "engine/backend/cpu/operand_counts.h"
#include "engine/backend/cpu/step_reference.h"
#include "engine/program/tensor_results.h"
#include "engine/quantize/statistics_fold.h"

namespace engine {
namespace {

/// Of the three operands, by role.
using AllFolds = std::array<OperandFold, 3>;

OperandStage& rowwise(CpuProjection& step, OperandRole role) {
  return step.stage(role, kernels::Direction::Rowwise);
}

void add_operands(CpuProjection& step, int expert, AllFolds& folds) {
  add_operand(rowwise(step, OperandRole::Activations), step.activations(expert), folds[0]);
  add_operand(rowwise(step, OperandRole::Weights), step.weights(0, expert), folds[1]);
  if (!step.runs_backward()) return;
  add_operand(rowwise(step, OperandRole::Gradients),
              step.elements(OperandRole::Gradients, 0, expert), folds[2]);
}

}  // namespace

Status CpuLinearStep::measure_statistics(RunResult& result) {
  CpuProjection& step = projection_;
  AllFolds folds;
  for (const OperandRole role :
       {OperandRole::Activations, OperandRole::Weights, OperandRole::Gradients}) {
    if (role == OperandRole::Gradients && !step.runs_backward()) continue;
    folds[static_cast<std::size_t>(role)].counts = zero_counts(rowwise(step, role).scales());
  }
  StepReference reference(step);
  OutputErrors errors;
  for (int expert = 0; expert < step.shape().num_experts(); ++expert) {
    if (!progress_.advance(expert, kStatisticsUnits)) return cancelled();
    run_expert(expert);
    if (step.is_cancelled()) return cancelled();
    const HostSpan span(step.context(), {Stage::Check, 0, expert}, "statistics");
    add_operands(step, expert, folds);
    if (step.is_cancelled()) return cancelled();
    ExpertResult row =
        expert_result(step.rows(expert), folds[0].counts.sums[static_cast<std::size_t>(expert)],
                      rowwise(step, OperandRole::Activations).plan().quantized());
    reference.measure(expert, row, errors);
    if (step.runs_backward()) step.clear_weight_gradient(0, expert);
    result.experts.push_back(row);
  }
  if (step.is_cancelled()) return cancelled();
  reference.complete();
  result.backward = step.runs_backward();
  result.tensors = tensor_results(step.request(), step.shape().splits);
  for (TensorResult& one : result.tensors) {
    const std::optional<TensorOperand> operand = operand_of(StepKind::Linear, one.tensor);
    if (!operand) continue;
    one.quantization = folds[static_cast<std::size_t>(operand->role)].statistics(
        rowwise(step, operand->role).scales());
  }
  errors.write_to(result.tensors);
  return {};
}

Result<OutputErrors> CpuLinearStep::measure_errors() {
  OutputErrors errors;
  CpuProjection& step = projection_;
  StepReference reference(step);
  for (int expert = 0; expert < num_experts(); ++expert) {
    if (!progress_.advance(expert, kStatisticsUnits)) return cancelled();
    run_expert(expert);
    if (step.is_cancelled()) return cancelled();
    const HostSpan span(step.context(), {Stage::Check, 0, expert}, "errors");
    reference.add(expert, errors);
    if (step.runs_backward()) step.clear_weight_gradient(0, expert);
  }
  if (step.is_cancelled()) return cancelled();
  return errors;
}

}  // namespace engine
