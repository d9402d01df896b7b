// Expert by expert through the same code as the timed step, so that the statistics describe what
// was timed.
#include "engine/backend/cpu/cpu_step.h"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/backend/cpu/step_reference.h"
#include "engine/input/element_rounding.h"
#include "engine/quantize/block_error.h"
#include "engine/quantize/statistics_fold.h"
#include "engine/quantize/unpacked_operand.h"

namespace engine {
namespace {

using kernels::GroupQuantizationSums;
using kernels::MagnitudeCounts;

/// [rows, columns] that the product reads in place of wider elements.
std::vector<float> rounded_values(const OperandStage& stage, const ExpertElements& expert) {
  const std::uint16_t* rounded = stage.rounded(0, expert.expert);
  std::vector<float> values(static_cast<std::size_t>(expert.rows * stage.plan().columns));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = value_of(stage.plan().recipe.high_precision, rounded[i]);
  }
  return values;
}

/// The loss from rounding wider elements; the twin handles codes only.
GroupQuantizationSums rounding_sums(const OperandStage& stage, const ExpertElements& expert,
                                    const TensorSource& source, std::int64_t first_row) {
  const std::int64_t columns = stage.plan().columns;
  std::vector<float> row(static_cast<std::size_t>(columns));
  GroupQuantizationSums sums{};
  for (std::int64_t r = 0; r < expert.rows; ++r) {
    source.read_f32(first_row + r, 1, row);
    const std::uint16_t* rounded = stage.rounded(0, expert.expert) + r * columns;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double x = row[c];
      const double y = value_of(stage.plan().recipe.high_precision, rounded[c]);
      if (std::isfinite(x)) sums.saturated += std::isfinite(y) ? 0 : 1;
      sums.underflowed += x != 0.0 && y == 0.0 ? 1 : 0;
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      sums.signal += x * x;
      sums.noise += (x - y) * (x - y);
    }
  }
  return sums;
}

/// Of one operand, expert by expert.
struct OperandFold {
  OperandCounts counts;
  BlockErrors blocks;
};

void add_operand(const OperandStage& stage, const ExpertElements& expert,
                 const TensorSource& source, std::int64_t first_row, OperandFold& fold) {
  if (expert.rows == 0) return;
  OperandCounts& counts = fold.counts;
  std::int64_t offsets[2];
  GroupQuantizationSums& own = counts.sums[static_cast<std::size_t>(expert.expert)];
  kernels::QuantizationStatisticsArgs args{.input = stage.input(expert, offsets),
                                           .before = &counts.before,
                                           .after = &counts.after,
                                           .sums = &own};
  if (stage.plan().quantized()) {
    args.quantized = stage.view(0, expert.expert, offsets);
    const std::int64_t first = stage.first_scale(expert.expert);
    if (!counts.losses.empty()) args.losses = counts.losses.data() + first;
    if (!counts.micro_losses.empty()) args.micro_losses = counts.micro_losses.data() + first;
  }
  if (!stage.plan().rounded()) {
    kernels::quantization_statistics_cpu(args);
    if (!stage.plan().quantized()) return fold.blocks.add(args.input, nullptr);
    UnpackedOperand unpacked;
    unpack_operand(args.quantized, unpacked);
    return fold.blocks.add(args.input, unpacked.decoded.get());
  }
  fold.blocks.add(args.input, rounded_values(stage, expert).data());
  // Two operands without codes: the original elements, and those that the product reads.
  MagnitudeCounts unused{};
  GroupQuantizationSums unused_sums{};
  args.after = &unused;
  args.sums = &unused_sums;
  kernels::quantization_statistics_cpu(args);
  args.input.input = stage.rounded(0, expert.expert);
  args.input.type = stage.plan().recipe.high_precision;
  args.before = &unused;
  args.after = &counts.after;
  kernels::quantization_statistics_cpu(args);
  own = rounding_sums(stage, expert, source, first_row);
}

/// Of the three operands, by role.
using AllFolds = std::array<OperandFold, 3>;

const OperandStage& rowwise(CpuStep& step, OperandRole role) {
  return step.stage(role, kernels::Direction::Rowwise);
}

void add_operands(CpuStep& step, int expert, AllFolds& folds) {
  const std::int64_t first = step.first_row(expert);
  LoadedOperands& operands = step.operands();
  add_operand(rowwise(step, OperandRole::Activations), step.activations(expert),
              operands.activations.source(), first, folds[0]);
  add_operand(rowwise(step, OperandRole::Weights), step.weights(0, expert),
              operands.weights.front().source(), expert * step.shape().n, folds[1]);
  if (!step.runs_backward()) return;
  add_operand(rowwise(step, OperandRole::Gradients),
              step.elements(OperandRole::Gradients, 0, expert), operands.gradients->source(), first,
              folds[2]);
}

}  // namespace

Status measure_statistics(CpuStep& step, RunResult& result) {
  AllFolds folds;
  for (const OperandRole role :
       {OperandRole::Activations, OperandRole::Weights, OperandRole::Gradients}) {
    if (role == OperandRole::Gradients && !step.runs_backward()) continue;
    folds[static_cast<std::size_t>(role)].counts = zero_counts(rowwise(step, role).scales());
  }
  StepReference reference(step);
  for (int expert = 0; expert < step.shape().num_experts(); ++expert) {
    if (!step.advance(expert, kStatisticsUnits)) return cancelled();
    step.run_expert(expert);
    if (step.is_cancelled()) return cancelled();
    const HostSpan span(step.context(), {Stage::Check, 0, expert}, "statistics");
    add_operands(step, expert, folds);
    if (step.is_cancelled()) return cancelled();
    ExpertResult row =
        expert_result(step.rows(expert), folds[0].counts.sums[static_cast<std::size_t>(expert)],
                      rowwise(step, OperandRole::Activations).plan().quantized());
    reference.measure(expert, row);
    if (step.runs_backward()) step.clear_weight_gradient(0, expert);
    result.experts.push_back(row);
  }
  if (step.is_cancelled()) return cancelled();
  reference.complete();
  const auto finish = [&](OperandRole role) {
    OperandFold& fold = folds[static_cast<std::size_t>(role)];
    OperandStatistics statistics = fold_statistics(fold.counts, rowwise(step, role).scales());
    statistics.median_block_snr_db = std::move(fold.blocks).median_db();
    return statistics;
  };
  result.activations = finish(OperandRole::Activations);
  result.weights = finish(OperandRole::Weights);
  result.backward = step.runs_backward();
  if (result.backward) result.gradients = finish(OperandRole::Gradients);
  return {};
}

}  // namespace engine
