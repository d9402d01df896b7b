// Expert by expert through the same code as the timed step, so that what is measured is what ran.
#include "engine/backend/cpu/step_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/backend/cpu/product.h"
#include "engine/input/element_rounding.h"

namespace engine {
namespace {

using kernels::GroupQuantizationSums;
using kernels::MagnitudeCounts;

/// Raw sums of one operand while the experts pass by.
struct OperandSums {
  MagnitudeCounts before = {};
  MagnitudeCounts after = {};
  std::vector<GroupQuantizationSums> experts;  // [num_experts]
  std::uint64_t elements = 0;
};

/// What rounding wider elements to BF16 lost; the twin only knows FP8 codes.
GroupQuantizationSums rounding_sums(const OperandStage& stage, const TensorSource& source,
                                    std::int64_t first_row, std::int64_t rows) {
  const std::int64_t columns = stage.plan().columns;
  std::vector<float> row(static_cast<std::size_t>(columns));
  GroupQuantizationSums sums{};
  for (std::int64_t r = 0; r < rows; ++r) {
    source.read_f32(first_row + r, 1, row);
    const std::uint16_t* rounded = stage.rounded() + r * columns;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double x = row[c];
      const double y = bf16_value(rounded[c]);
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
  if (expert.rows == 0) return;
  std::int64_t offsets[2];
  GroupQuantizationSums& own = sums.experts[static_cast<std::size_t>(expert.expert)];
  kernels::QuantizationStatisticsArgs args{.input = stage.input(expert, offsets),
                                           .codes = stage.codes(),
                                           .format = stage.format(),
                                           .layout = stage.layout(),
                                           .before = &sums.before,
                                           .after = &sums.after,
                                           .sums = &own};
  if (stage.plan().quantized()) args.scale_inv = stage.expert_scale_inv(expert.expert);
  sums.elements += static_cast<std::uint64_t>(expert.rows * stage.plan().columns);
  if (!stage.plan().rounded()) {
    kernels::quantization_statistics_cpu(args);
    return;
  }
  // Two operands without codes: the elements as they came, and as the product reads them.
  MagnitudeCounts unused{};
  GroupQuantizationSums unused_sums{};
  args.after = &unused;
  args.sums = &unused_sums;
  kernels::quantization_statistics_cpu(args);
  args.input.input = stage.rounded();
  args.input.type = kernels::InputType::Bf16;
  args.before = &unused;
  args.after = &sums.after;
  kernels::quantization_statistics_cpu(args);
  own = rounding_sums(stage, source, first_row, expert.rows);
}

OperandStatistics finish_operand(const OperandStage& stage, const OperandSums& sums) {
  const QuantizationTotals totals = total_quantization(sums.experts);
  OperandStatistics statistics;
  statistics.before = to_histogram(sums.before);
  statistics.after = to_histogram(sums.after);
  if (stage.plan().quantized()) {
    const ScaleMapSource scales = stage.scales();
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

/// Product of the unquantized operands, by strips of rows so that a large expert fits.
class Reference {
 public:
  explicit Reference(CpuStep& step) : step_(step) {
    LoadedOperands& operands = step.operands();
    known_ = operands.kept() && operands.reference_splits == step.shape().splits &&
             operands.reference.get() != nullptr;
    if (!operands.kept()) return;
    operands.reference.reserve(step.shape().sum_m() * step.shape().n);
    if (!known_) operands.reference_splits.clear();  // until the last expert is there
  }

  void add_error(int expert, kernels::GroupProductError& error) {
    const GroupedShape& shape = step_.shape();
    const std::int64_t rows = shape.splits[static_cast<std::size_t>(expert)];
    const std::int64_t first = step_.first_row(expert);
    LoadedOperands& operands = step_.operands();
    if (!known_) {
      operands.weights.front().source().read_f32(
          expert * shape.n, shape.n, {w_.reserve(shape.n * shape.k), size(shape.n * shape.k)});
    }
    const std::int64_t strip = std::max<std::int64_t>(1, kStripFloats / (shape.n + shape.k));
    for (std::int64_t row = 0; row < rows; row += strip) {
      const std::int64_t count = std::min(strip, rows - row);
      float* y = operands.kept() ? operands.reference.get() + (first + row) * shape.n
                                 : y_.reserve(count * shape.n);
      if (!known_) multiply(first + row, count, y);
      const std::int64_t offsets[2] = {0, count};
      kernels::product_error_cpu({.product = step_.buffers().product.get() + row * shape.n,
                                  .reference = y,
                                  .row_offsets = offsets,
                                  .num_groups = 1,
                                  .capacity_rows = count,
                                  .columns = shape.n,
                                  .errors = &error});
    }
  }

  void complete() {
    if (step_.operands().kept()) step_.operands().reference_splits = step_.shape().splits;
  }

 private:
  static constexpr std::int64_t kStripFloats = std::int64_t{1} << 25;
  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

  void multiply(std::int64_t first_row, std::int64_t rows, float* y) {
    const GroupedShape& shape = step_.shape();
    float* x = x_.reserve(rows * shape.k);
    step_.operands().activations.source().read_f32(first_row, rows, {x, size(rows * shape.k)});
    product({.x = x,
             .w = w_.get(),
             .m = rows,
             .n = shape.n,
             .k = shape.k,
             .y_f32 = y,
             .cancel = &step_.context().progress.cancel});
  }

  CpuStep& step_;
  bool known_ = false;
  Buffer<float> w_;  // [n, k] of the expert
  Buffer<float> x_;  // [strip, k]
  Buffer<float> y_;  // [strip, n], when the reference is not kept
};

ExpertResult expert_result(std::int64_t rows, const kernels::GroupProductError& error,
                           const GroupQuantizationSums& x) {
  const ProductAccuracy accuracy = product_accuracy(error);
  return {
      .rows = rows,
      .snr_db = accuracy.snr_db,
      .max_abs_error = accuracy.max_abs_error,
      .reference_rms = accuracy.reference_rms,
      .saturated = x.saturated,
      .underflowed = x.underflowed,
      .x_snr_db = rows == 0 ? std::numeric_limits<double>::quiet_NaN() : snr_db(x.signal, x.noise)};
}

}  // namespace

Status measure_statistics(CpuStep& step, RunResult& result) {
  const auto experts = static_cast<std::size_t>(step.shape().num_experts());
  OperandSums x_sums;
  OperandSums w_sums;
  x_sums.experts.assign(experts, {});
  w_sums.experts.assign(experts, {});
  Reference reference(step);
  for (int expert = 0; expert < step.shape().num_experts(); ++expert) {
    if (!step.advance(expert, kStatisticsUnits)) return cancelled();
    step.run_expert(0, expert);
    const HostSpan span(step.context(), {Stage::Check, 0, expert}, "statistics");
    const std::int64_t rows = step.shape().splits[static_cast<std::size_t>(expert)];
    const ExpertElements x = step.activations(expert);
    const ExpertElements w = step.weights(0, expert);
    add_operand(step.buffers().activations, x, step.operands().activations.source(),
                step.first_row(expert), x_sums);
    add_operand(step.buffers().weights, w, step.operands().weights.front().source(),
                expert * step.shape().n, w_sums);
    kernels::GroupProductError error{};
    if (rows > 0) reference.add_error(expert, error);
    result.experts.push_back(
        expert_result(rows, error, x_sums.experts[static_cast<std::size_t>(expert)]));
  }
  if (step.is_cancelled()) return cancelled();
  reference.complete();
  result.activations = finish_operand(step.buffers().activations, x_sums);
  result.weights = finish_operand(step.buffers().weights, w_sums);
  return {};
}

}  // namespace engine
