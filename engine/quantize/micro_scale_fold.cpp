#include "engine/quantize/micro_scale_fold.h"

#include <algorithm>
#include <vector>

#include "kernels/dequantize/decode_rule.h"

namespace engine {
namespace {

ScaleMap geometry(const OperandLayout& layout, std::span<const std::int64_t> splits,
                  std::int64_t columns) {
  ScaleMap map;
  map.expert_first_row = {0};
  for (const std::int64_t rows : splits) {
    const ScaleGrid grid = scale_grid(layout, rows, columns);
    map.block_rows = grid.block_rows;
    map.block_columns = grid.block_columns;
    map.source_columns = grid.columns;
    map.source_rows += rows == 0 ? 0 : grid.rows;
    map.expert_first_row.push_back(map.source_rows);
  }
  return map;
}

}  // namespace

MicroScaleFold fold_micro_scales(const OperandLayout& layout, std::span<const std::int64_t> splits,
                                 std::int64_t columns, std::span<const std::uint8_t> scales,
                                 std::span<const kernels::MicroLosses> losses, const float* amax) {
  const ScaleMap map = geometry(layout, splits, columns);
  ScaleFolder folder(map, true);
  kernels::MagnitudeCounts counts{};
  std::vector<float> line;  // 1 / factor
  std::int64_t first = 0;   // of the group's bytes
  for (std::size_t group = 0; group < splits.size(); ++group) {
    const ScaleGrid grid = scale_grid(layout, splits[group], columns);
    const kernels::GroupView view{
        .scales = scales.data() + first,
        .amax = layout.e2m1() ? amax[group] : 0.0F,
        .kind = layout.e2m1() ? kernels::ScaleKind::E4m3 : kernels::ScaleKind::E8m0};
    for (std::int64_t r = 0; splits[group] > 0 && r < grid.rows; ++r) {
      line.clear();
      for (std::int64_t c = 0; c < grid.columns; ++c) {
        const std::int64_t index = r * grid.row_stride + c * grid.column_stride;
        const float factor = kernels::factor_at(view, index);
        const kernels::MicroLosses& lost = losses[static_cast<std::size_t>(first + index)];
        folder.add({.scale_inv = factor,
                    .row = map.expert_first_row[group] + r,
                    .column = c,
                    .elements = std::min(grid.block_rows, splits[group] - r * grid.block_rows) *
                                std::min(grid.block_columns, columns - c * grid.block_columns),
                    .losses = {lost.saturated, lost.underflowed}});
        line.push_back(1.0F / factor);
      }
      kernels::magnitude_counts_cpu(line.data(), std::ssize(line), counts);
    }
    first += grid.span;
  }
  return {.map = folder.take(), .scale = to_histogram(counts)};
}

}  // namespace engine
