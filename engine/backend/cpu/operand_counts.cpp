#include "engine/backend/cpu/operand_counts.h"

#include <cmath>
#include <numeric>

#include "engine/input/element_rounding.h"

namespace engine {
namespace {

using kernels::GroupQuantizationSums;
using kernels::MagnitudeCounts;

/// The loss from rounding wider elements; the twin handles codes only. `rows`: of the expert.
GroupQuantizationSums rounding_sums(const OperandStage& stage, const ExpertElements& expert,
                                    kernels::ChannelSums* columns, kernels::ChannelSums* rows) {
  const std::uint16_t* rounded = stage.rounded(0, expert.expert);
  GroupQuantizationSums sums{};
  for (std::int64_t i = 0; i < expert.rows * stage.plan().columns; ++i) {
    const double x = element_value(stage.plan().element, expert.elements, i);
    const double y = value_of(stage.plan().recipe.high_precision, rounded[i]);
    const bool lost = std::isfinite(x) && !std::isfinite(y);
    sums.saturated += lost ? 1 : 0;
    columns[i % stage.plan().columns].saturated += lost ? 1 : 0;
    rows[i / stage.plan().columns].saturated += lost ? 1 : 0;
    sums.lost += lost ? 1 : 0;
    sums.undefined += std::isfinite(x) ? 0 : 1;
    sums.underflowed += x != 0.0 && y == 0.0 ? 1 : 0;
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    ++sums.elements;
    sums.signal += x * x;
    sums.noise += (x - y) * (x - y);
  }
  return sums;
}

}  // namespace

OperandStatistics OperandFold::statistics(const ScaleArrays& scales) const {
  OperandStatistics folded = fold_statistics(counts, scales);
  folded.median_block_snr_db = blocks.median_db();
  folded.experts = operand_experts(counts, scales.splits, scales.scales != nullptr);
  return folded;
}

void add_operand(OperandStage& stage, const ExpertElements& expert, OperandFold& fold) {
  if (expert.rows == 0) return;
  OperandCounts& counts = fold.counts;
  std::int64_t offsets[2];
  const auto& splits = stage.plan().splits;
  const std::int64_t first_row =
      std::accumulate(splits.begin(), splits.begin() + expert.expert, std::int64_t{0});
  GroupQuantizationSums& own = counts.sums[static_cast<std::size_t>(expert.expert)];
  kernels::QuantizationStatisticsArgs args{.input = stage.input(expert, offsets),
                                           .before = &counts.before,
                                           .after = &counts.after,
                                           .sums = &own,
                                           .columns = counts.columns.data(),
                                           .rows = counts.rows.data() + first_row};
  if (stage.plan().quantized()) {
    args.quantized = stage.view(0, expert.expert, offsets);
    const std::int64_t first = stage.first_scale(expert.expert);
    if (!counts.losses.empty()) args.losses = counts.losses.data() + first;
    if (!counts.micro_losses.empty()) args.micro_losses = counts.micro_losses.data() + first;
  }
  const bool exact = !stage.plan().quantized() && !stage.plan().rounded();
  fold.blocks.add({.input = args.input,
                   .decoded = exact ? nullptr : stage.widen(expert, 0),
                   .columns = args.columns,
                   .rows = args.rows,
                   .first_row = first_row});
  if (!stage.plan().rounded()) return kernels::quantization_statistics_cpu(args);
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
  own = rounding_sums(stage, expert, args.columns, args.rows);
}

}  // namespace engine
