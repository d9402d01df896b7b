#include "engine/quantize/range_waste.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/quantize/operand_numerics.h"

namespace engine {
namespace {

/// Largest finite magnitude of the elements under every scale of one group, laid out as they are.
void find_amax(const kernels::GroupedInput& input, const ScaleGrid& grid, std::int64_t first_row,
               std::int64_t rows, float* amax) {
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t r = 0; r < grid.rows; ++r) {
    const std::int64_t last = std::min(rows, (r + 1) * grid.block_rows);
    for (std::int64_t row = r * grid.block_rows; row < last; ++row) {
      for (std::int64_t column = 0; column < input.columns; ++column) {
        const float x = element_value(input, (first_row + row) * input.columns + column);
        float& block = amax[r * grid.row_stride + column / grid.block_columns * grid.column_stride];
        // NaN compares false: it does not reach amax, as in the kernels.
        if (std::fabs(x) > block) block = std::fabs(x);
      }
    }
  }
}

std::vector<float> amax_of_scales(const kernels::GroupedInput& input, const ScaleArrays& arrays) {
  std::vector<float> amax(
      static_cast<std::size_t>(scale_count(arrays.layout, arrays.splits, arrays.columns)), 0.0F);
  float* of_group = amax.data();
  for (std::size_t group = 0; group < arrays.splits.size(); ++group) {
    const ScaleGrid grid = scale_grid(arrays.layout, arrays.splits[group], arrays.columns);
    find_amax(input, grid, input.row_offsets[group], arrays.splits[group], of_group);
    of_group += grid.span;
  }
  return amax;
}

struct WasteSums {
  double sum = 0.0;
  RangeWaste waste;

  void add(float amax, float factor, double largest) {
    if (!std::isfinite(amax) || amax <= 0.0F || !(factor > 0.0F)) return;
    const double ideal = largest / static_cast<double>(amax);
    if (ideal > static_cast<double>(std::numeric_limits<float>::max())) return;
    const double binades = std::log2(ideal * static_cast<double>(factor));
    if (!std::isfinite(binades)) return;
    waste.max = waste.scales == 0 ? binades : std::max(waste.max, binades);
    sum += binades;
    ++waste.scales;
  }
};

}  // namespace

std::vector<RangeWaste> range_waste(const kernels::GroupedInput& input, const ScaleArrays& arrays,
                                    float amax_epsilon) {
  std::vector<RangeWaste> groups(arrays.splits.size());
  if (arrays.layout.e2m1()) return groups;
  const bool kept = arrays.layout.fp32_scales() && arrays.amax != nullptr;
  const std::vector<float> own = kept ? std::vector<float>() : amax_of_scales(input, arrays);
  const float* amax = kept ? arrays.amax : own.data();
  std::vector<WasteSums> sums(groups.size());
  for_each_scale(arrays.layout, arrays.splits, arrays.columns, [&](const ScalePlace& place) {
    sums[place.group].add(std::max(amax[place.index], amax_epsilon), scale_factor(arrays, place),
                          kernels::fp8_max(arrays.layout.format));
  });
  for (std::size_t group = 0; group < groups.size(); ++group) {
    groups[group] = sums[group].waste;
    if (groups[group].scales > 0) {
      groups[group].mean = sums[group].sum / static_cast<double>(groups[group].scales);
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
