#include "app/protocol/run_preview.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace app {
namespace {

/// A tenth of a second at 20 Mbit/s, as what is left out would travel.
constexpr std::size_t kWorthIt = 256'000;
constexpr std::size_t kRecordBytes = 9;  // of a compressed one, as measured
constexpr std::size_t kCellBytes = sizeof(float);

std::size_t cells_of(const engine::ScaleMap& map) {
  return map.mean.size() + map.maximum.size() + map.minimum.size() + map.deviation.size() +
         map.saturated_share.size() + map.underflowed_share.size();
}

/// `Join` of the cells of each tile of `step_rows` x `step_columns`; a NaN is a cell without one.
template <class Join>
std::vector<float> folded(const std::vector<float>& cells, const engine::ScaleMap& map,
                          int step_rows, int step_columns, const Join& join) {
  std::vector<float> made;
  for (int row = 0; row < map.rows; row += step_rows) {
    for (int column = 0; column < map.columns; column += step_columns) {
      double joined = std::numeric_limits<double>::quiet_NaN();
      int count = 0;
      for (int y = row; y < std::min(row + step_rows, map.rows); ++y) {
        for (int x = column; x < std::min(column + step_columns, map.columns); ++x) {
          const float cell =
              cells[static_cast<std::size_t>(y) * static_cast<std::size_t>(map.columns) +
                    static_cast<std::size_t>(x)];
          if (std::isnan(cell)) continue;
          joined = count == 0 ? static_cast<double>(cell)
                              : join(joined, static_cast<double>(cell), count);
          ++count;
        }
      }
      made.push_back(static_cast<float>(joined));
    }
  }
  return made;
}

engine::ScaleMap coarse(const engine::ScaleMap& map) {
  const auto step = [](int cells) { return (cells + kPreviewMapSide - 1) / kPreviewMapSide; };
  const int rows = std::max(step(map.rows), 1);
  const int columns = std::max(step(map.columns), 1);
  engine::ScaleMap made{.block_rows = map.block_rows,
                        .block_columns = map.block_columns,
                        .source_rows = map.source_rows,
                        .source_columns = map.source_columns,
                        .rows = (map.rows + rows - 1) / rows,
                        .columns = (map.columns + columns - 1) / columns,
                        .mean = {},
                        .maximum = {},
                        .expert_first_row = map.expert_first_row,
                        .summary = map.summary};
  made.mean = folded(map.mean, map, rows, columns, [](double mean, double one, int count) {
    return mean + (one - mean) / (count + 1);
  });
  made.maximum = folded(map.maximum, map, rows, columns,
                        [](double most, double one, int) { return std::max(most, one); });
  return made;
}

}  // namespace

std::optional<RunPreview> preview_of(const RunDone& done) {
  std::size_t left_out = kRecordBytes * done.activity.records.size();
  for (const engine::TensorResult& tensor : done.result.tensors) {
    if (tensor.quantization) left_out += kCellBytes * cells_of(tensor.quantization->scale_map);
  }
  if (left_out < kWorthIt) return std::nullopt;
  RunPreview preview{.result = done.result, .power = done.power};
  for (engine::TensorResult& tensor : preview.result.tensors) {
    if (tensor.quantization)
      tensor.quantization->scale_map = coarse(tensor.quantization->scale_map);
  }
  return preview;
}

}  // namespace app
