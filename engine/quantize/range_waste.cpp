#include "engine/quantize/range_waste.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace engine {
namespace {

double format_max(const OperandLayout& layout) {
  return layout.format == kernels::Fp8Format::E4m3 ? 448.0 : 57344.0;
}

/// Largest finite magnitude of the elements under every scale of one group, in the order of
/// PlainScales.
std::vector<float> amax_of_blocks(const kernels::GroupedInput& input, const ScaleGrid& grid,
                                  std::int64_t first_row, std::int64_t rows) {
  std::vector<float> amax(static_cast<std::size_t>(grid.rows * grid.columns), 0.0F);
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t r = 0; r < grid.rows; ++r) {
    const std::int64_t last = std::min(rows, (r + 1) * grid.block_rows);
    for (std::int64_t row = r * grid.block_rows; row < last; ++row) {
      for (std::int64_t column = 0; column < input.columns; ++column) {
        const float x = element_value(input, (first_row + row) * input.columns + column);
        float& block =
            amax[static_cast<std::size_t>(r * grid.columns + column / grid.block_columns)];
        // NaN compares false: it does not reach amax, as in the kernels.
        if (std::fabs(x) > block) block = std::fabs(x);
      }
    }
  }
  return amax;
}

struct WasteSums {
  double sum = 0.0;
  RangeWaste waste;

  void add(float amax, float scale_inv, double largest) {
    if (!std::isfinite(amax) || amax <= 0.0F || !(scale_inv > 0.0F)) return;
    const double ideal = largest / static_cast<double>(amax);
    if (ideal > static_cast<double>(std::numeric_limits<float>::max())) return;
    const double binades = std::log2(ideal * static_cast<double>(scale_inv));
    if (!std::isfinite(binades)) return;
    waste.max = waste.scales == 0 ? binades : std::max(waste.max, binades);
    sum += binades;
    ++waste.scales;
  }
};

}  // namespace

std::vector<RangeWaste> range_waste(const kernels::GroupedInput& input, const OperandLayout& layout,
                                    std::span<const std::int64_t> splits, const PlainScales& plain,
                                    std::span<const float> amax, float amax_epsilon) {
  std::vector<RangeWaste> groups(splits.size());
  if (layout.e2m1()) return groups;
  for (std::size_t group = 0; group < splits.size(); ++group) {
    const std::int64_t first = plain.first_row[group] * plain.columns;
    const std::int64_t count = plain.first_row[group + 1] * plain.columns - first;
    if (count == 0) continue;
    std::vector<float> own;
    std::span<const float> of_group;
    if (amax.empty()) {
      own = amax_of_blocks(input, scale_grid(layout, splits[group], input.columns),
                           input.row_offsets[group], splits[group]);
      of_group = own;
    } else {
      of_group = amax.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    }
    WasteSums sums;
    for (std::int64_t i = 0; i < count; ++i) {
      const float largest = std::max(of_group[static_cast<std::size_t>(i)], amax_epsilon);
      sums.add(largest, plain.factors[static_cast<std::size_t>(first + i)], format_max(layout));
    }
    groups[group] = sums.waste;
    if (sums.waste.scales > 0) {
      groups[group].mean = sums.sum / static_cast<double>(sums.waste.scales);
    }
  }
  return groups;
}

RangeWaste total_waste(std::span<const RangeWaste> groups) {
  RangeWaste total;
  double sum = 0.0;
  for (const RangeWaste& group : groups) {
    if (group.scales == 0) continue;
    total.max = total.scales == 0 ? group.max : std::max(total.max, group.max);
    total.scales += group.scales;
    sum += group.mean * static_cast<double>(group.scales);
  }
  if (total.scales > 0) total.mean = sum / static_cast<double>(total.scales);
  return total;
}

}  // namespace engine
