// Expert by expert through the same code as the timed step, so that the statistics describe what
// was timed.
#include "engine/backend/cpu/cpu_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/backend/cpu/step_reference.h"
#include "engine/input/element_rounding.h"
#include "engine/quantize/operand_numerics.h"
#include "engine/quantize/unpacked_operand.h"

namespace engine {
namespace {

using kernels::GroupQuantizationSums;
using kernels::MagnitudeCounts;

/// Raw sums of one operand, accumulated expert by expert.
struct OperandSums {
  MagnitudeCounts before = {};
  MagnitudeCounts after = {};
  std::vector<GroupQuantizationSums> experts;  // [num_experts]
  std::uint64_t elements = 0;
  /// MXFP8 and NVFP4: histograms and scales as in comparisons.
  MagnitudeHistogram amax = {};
  MagnitudeHistogram scale = {};
  MagnitudeHistogram micro_before = {};
  MagnitudeHistogram micro_after = {};
  PlainScales plain = {};
  std::vector<kernels::BlockLosses> losses = {};  // FP8 with FP32 scales: laid out as they are
};

void merge(const MagnitudeHistogram& more, MagnitudeHistogram& all) {
  all.zeros += more.zeros;
  all.infinities += more.infinities;
  all.nans += more.nans;
  if (more.counts.empty()) return;
  const auto end = [](const MagnitudeHistogram& h) {
    return h.first_bin + static_cast<int>(h.counts.size());
  };
  if (all.counts.empty()) all.first_bin = more.first_bin;
  const int first = std::min(all.first_bin, more.first_bin);
  const auto front = static_cast<std::size_t>(all.first_bin - first);
  all.counts.insert(all.counts.begin(), front, 0);
  all.first_bin = first;
  if (end(more) > end(all)) all.counts.resize(static_cast<std::size_t>(end(more) - first), 0);
  for (std::size_t bin = 0; bin < more.counts.size(); ++bin) {
    all.counts[static_cast<std::size_t>(more.first_bin - first) + bin] += more.counts[bin];
  }
}

void add_micro(const OperandStage& stage, const ExpertElements& expert, OperandSums& sums) {
  std::int64_t offsets[2];
  const kernels::GroupedInput input = stage.input(expert, offsets);
  const OperandLayout layout = stage.layout(expert.rows);
  const kernels::QuantizedView view = stage.view(0, expert.expert, offsets);
  const std::int64_t splits[1] = {expert.rows};
  UnpackedOperand unpacked;
  unpack_operand(layout, view, splits, unpacked);
  QuantizationReport report;
  std::vector<GroupQuantizationSums> groups;
  measure_operand(input, layout, view, splits, unpacked,
                  layout.e2m1() ? stage.expert_amax(0, expert.expert) : nullptr, report, &groups,
                  &sums.plain);
  sums.experts[static_cast<std::size_t>(expert.expert)] = groups.front();
  merge(report.statistics.before, sums.micro_before);
  merge(report.statistics.after, sums.micro_after);
  merge(report.statistics.amax, sums.amax);
  merge(report.statistics.scale, sums.scale);
}

/// The loss from rounding wider elements; the twin handles FP8 codes only.
GroupQuantizationSums rounding_sums(const OperandStage& stage, const ExpertElements& expert,
                                    const TensorSource& source, std::int64_t first_row) {
  const bool half = stage.plan().recipe.high_precision == ElementType::Fp16;
  const std::int64_t columns = stage.plan().columns;
  std::vector<float> row(static_cast<std::size_t>(columns));
  GroupQuantizationSums sums{};
  for (std::int64_t r = 0; r < expert.rows; ++r) {
    source.read_f32(first_row + r, 1, row);
    const std::uint16_t* rounded = stage.rounded(0, expert.expert) + r * columns;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double x = row[c];
      const double y = half ? fp16_value(rounded[c]) : bf16_value(rounded[c]);
      if (std::isfinite(x)) sums.saturated += std::isfinite(y) ? 0 : 1;
      sums.underflowed += x != 0.0 && y == 0.0 ? 1 : 0;
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      sums.signal += x * x;
      sums.noise += (x - y) * (x - y);
    }
  }
  return sums;
}

void add_operand(const OperandStage& stage, const ExpertElements& expert,
                 const TensorSource& source, std::int64_t first_row, OperandSums& sums) {
  if (expert.rows == 0) {
    sums.plain.first_row.push_back(sums.plain.rows);
    return;
  }
  sums.elements += static_cast<std::uint64_t>(expert.rows * stage.plan().columns);
  if (stage.plan().traits().micro()) return add_micro(stage, expert, sums);
  std::int64_t offsets[2];
  GroupQuantizationSums& own = sums.experts[static_cast<std::size_t>(expert.expert)];
  kernels::QuantizationStatisticsArgs args{.input = stage.input(expert, offsets),
                                           .before = &sums.before,
                                           .after = &sums.after,
                                           .sums = &own};
  if (stage.plan().quantized()) {
    args.quantized = stage.view(0, expert.expert, offsets);
    const ScaleMapSource scales = stage.scales();
    if (sums.losses.empty()) sums.losses.resize(static_cast<std::size_t>(scale_count(scales)));
    args.losses = sums.losses.data() + (stage.expert_scale_inv(expert.expert) - scales.scale_inv);
  }
  if (!stage.plan().rounded()) {
    kernels::quantization_statistics_cpu(args);
    return;
  }
  // Two operands without codes: the original elements, and those that the product reads.
  MagnitudeCounts unused{};
  GroupQuantizationSums unused_sums{};
  args.after = &unused;
  args.sums = &unused_sums;
  kernels::quantization_statistics_cpu(args);
  args.input.input = stage.rounded(0, expert.expert);
  args.input.type = stage.plan().recipe.high_precision;
  args.before = &unused;
  args.after = &sums.after;
  kernels::quantization_statistics_cpu(args);
  own = rounding_sums(stage, expert, source, first_row);
}

OperandStatistics finish_operand(const OperandStage& stage, const OperandSums& sums) {
  const QuantizationTotals totals = total_quantization(sums.experts);
  OperandStatistics statistics;
  statistics.before = to_histogram(sums.before);
  statistics.after = to_histogram(sums.after);
  if (stage.plan().traits().micro()) {
    statistics.before = sums.micro_before;
    statistics.after = sums.micro_after;
    statistics.amax = sums.amax;
    statistics.scale = sums.scale;
    statistics.scale_map =
        fold_plain_scales(sums.plain, scale_grid(stage.layout(1), 1, stage.plan().columns));
  } else if (stage.plan().quantized()) {
    ScaleMapSource scales = stage.scales();
    if (!sums.losses.empty()) scales.losses = sums.losses.data();
    statistics.amax = amax_histogram(scales, stage.amax());
    statistics.scale = scale_histogram(scales);
    statistics.scale_map = fold_scale_map(scales);
  }
  statistics.elements = sums.elements;
  statistics.saturated = totals.saturated;
  statistics.underflowed = totals.underflowed;
  statistics.snr_db = totals.snr_db;
  return statistics;
}

ExpertResult expert_result(const OperandStage& stage, std::int64_t rows,
                           const GroupQuantizationSums& x) {
  ExpertResult expert{.rows = rows, .saturated = x.saturated, .underflowed = x.underflowed};
  expert.x_snr_db =
      rows == 0 ? std::numeric_limits<double>::quiet_NaN() : snr_db(x.signal, x.noise);
  if (rows > 0 && stage.plan().quantized()) expert.x_max_ulp = x.max_ulp;
  return expert;
}

/// Sums of the three operands by role.
using AllSums = std::array<OperandSums, 3>;

void add_operands(CpuStep& step, int expert, AllSums& sums) {
  const auto stage = [&](OperandRole role) -> const OperandStage& {
    return step.stage(role, kernels::Direction::Rowwise);
  };
  const std::int64_t first = step.first_row(expert);
  LoadedOperands& operands = step.operands();
  add_operand(stage(OperandRole::Activations), step.activations(expert),
              operands.activations.source(), first, sums[0]);
  add_operand(stage(OperandRole::Weights), step.weights(0, expert),
              operands.weights.front().source(), expert * step.shape().n, sums[1]);
  if (!step.runs_backward()) return;
  add_operand(stage(OperandRole::Gradients), step.elements(OperandRole::Gradients, 0, expert),
              operands.gradients->source(), first, sums[2]);
}

}  // namespace

Status measure_statistics(CpuStep& step, RunResult& result) {
  const auto experts = static_cast<std::size_t>(step.shape().num_experts());
  AllSums sums;
  for (OperandSums& of : sums) of.experts.assign(experts, {});
  StepReference reference(step);
  for (int expert = 0; expert < step.shape().num_experts(); ++expert) {
    if (!step.advance(expert, kStatisticsUnits)) return cancelled();
    step.run_expert(expert);
    if (step.is_cancelled()) return cancelled();
    const HostSpan span(step.context(), {Stage::Check, 0, expert}, "statistics");
    add_operands(step, expert, sums);
    if (step.is_cancelled()) return cancelled();
    ExpertResult row =
        expert_result(step.stage(OperandRole::Activations, kernels::Direction::Rowwise),
                      step.rows(expert), sums[0].experts[static_cast<std::size_t>(expert)]);
    reference.measure(expert, row);
    if (step.runs_backward()) step.clear_weight_gradient(0, expert);
    result.experts.push_back(row);
  }
  if (step.is_cancelled()) return cancelled();
  reference.complete();
  const auto finish = [&](OperandRole role) {
    return finish_operand(step.stage(role, kernels::Direction::Rowwise),
                          sums[static_cast<std::size_t>(role)]);
  };
  result.activations = finish(OperandRole::Activations);
  result.weights = finish(OperandRole::Weights);
  result.backward = step.runs_backward();
  if (result.backward) result.gradients = finish(OperandRole::Gradients);
  return {};
}

}  // namespace engine
