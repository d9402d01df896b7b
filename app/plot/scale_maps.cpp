#include "app/plot/scale_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/model/counted.h"
#include "profiling/document/columns.h"
#include "profiling/document/quantity.h"

namespace app {
namespace {

bool is_share(MapLayer layer) {
  return layer == MapLayer::Saturated || layer == MapLayer::Underflowed;
}

}  // namespace

const MapWords& words_of(MapLayer layer) {
  static constexpr std::array<MapWords, 6> kWords = {{
      {"largest", "scale_inv", "largest scale_inv of a cell", "log2_scale_inv"},
      {"mean", "scale_inv", "mean of log2 scale_inv", "mean_log2_scale_inv"},
      {"std dev", "standard deviation of log2 scale_inv", "std dev of log2 scale_inv",
       "std_dev_log2_scale_inv"},
      {"max - min", "max - min of log2 scale_inv", "max - min of log2 scale_inv",
       "distance_log2_scale_inv"},
      {"saturated", "saturated elements", "saturated elements", "saturated_share"},
      {"underflowed", "underflowed elements", "underflowed elements", "underflowed_share"},
  }};
  return kWords.at(static_cast<std::size_t>(layer));
}

std::string map_value_text(MapLayer layer, double value) {
  if (is_share(layer)) return fmt::format("{:.3g} %", 100.0 * value);
  if (layer == MapLayer::Deviation || layer == MapLayer::Distance) {
    return fmt::format("{:.2f} binades", value);
  }
  return profiling::power_text(value);
}

std::string summary_text(const engine::ScaleSummary& summary) {
  if (summary.scales == 0) return "";
  return fmt::format("mean {}, std dev {:.2f}, {} distinct, {} saturated, {} underflowed",
                     profiling::power_text(summary.mean, 2), summary.deviation,
                     profiling::count_text(summary.distinct),
                     engine::counted(summary.saturated, "block"),
                     profiling::count_text(summary.underflowed));
}

std::string map_size_text(const engine::ScaleMap& map) {
  if (map.rows == 0) return "";
  return fmt::format("{} x {} scales, one per {} x {} elements",
                     profiling::count_text(static_cast<std::uint64_t>(map.source_rows)),
                     profiling::count_text(static_cast<std::uint64_t>(map.source_columns)),
                     map.block_rows, map.block_columns);
}

plot::Range map_colors(const plot::Grid& grid, MapLayer layer) {
  plot::Range colors = plot::value_range(grid.values);
  // Spreads and shares start at zero: a map of zeros must not look like a map of ones.
  if (layer != MapLayer::Largest && layer != MapLayer::Mean && !grid.values.empty()) {
    colors = {0.0, colors.max > 0.0 ? colors.max : is_share(layer) ? 0.01 : 1.0};
  }
  return colors.empty() ? plot::padded(colors, 0.0) : colors;
}

plot::Grid map_layer(const engine::ScaleMap& map, MapLayer layer) {
  plot::Grid grid{.rows = map.rows, .columns = map.columns, .values = {}};
  switch (layer) {
    case MapLayer::Largest:
      grid.values = map.maximum;
      break;
    case MapLayer::Mean:
      grid.values = map.mean;
      break;
    case MapLayer::Deviation:
      grid.values = map.deviation;
      break;
    case MapLayer::Distance:
      grid.values = map.minimum;
      for (std::size_t cell = 0; cell < std::min(grid.values.size(), map.maximum.size()); ++cell) {
        grid.values[cell] = map.maximum[cell] - map.minimum[cell];
      }
      break;
    case MapLayer::Saturated:
      grid.values = map.saturated_share;
      break;
    case MapLayer::Underflowed:
      grid.values = map.underflowed_share;
      break;
  }
  const auto cells = static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.columns);
  return grid.values.size() == cells && cells > 0 ? grid : plot::Grid{};
}

std::vector<double> expert_separators(const engine::ScaleMap& map) {
  const std::vector<std::int64_t>& first = map.expert_first_row;
  std::vector<double> rows;
  for (std::size_t i = 1; i + 1 < first.size(); ++i) {
    if (first[i] != first[i - 1]) rows.push_back(static_cast<double>(first[i]));
  }
  return rows;
}

int expert_at(const engine::ScaleMap& map, double source_row) {
  const std::vector<std::int64_t>& first = map.expert_first_row;
  // The last expert that starts at or before the row: empty ones share their start with the next.
  const auto after = std::ranges::upper_bound(first, static_cast<std::int64_t>(source_row));
  const auto index = static_cast<std::ptrdiff_t>(after - first.begin()) - 1;
  const auto experts = static_cast<std::ptrdiff_t>(first.size()) - 1;
  return index >= 0 && index < experts ? static_cast<int>(index) : -1;
}

std::int64_t operand_row(const engine::ScaleMap& map, double source_row,
                         const std::function<std::int64_t(std::size_t)>& rows_of) {
  const int expert = expert_at(map, source_row);
  if (expert < 0) return 0;
  const auto owner = static_cast<std::size_t>(expert);
  std::int64_t start = 0;
  for (std::size_t before = 0; before < owner; ++before) start += rows_of(before);
  const std::int64_t block = static_cast<std::int64_t>(source_row) - map.expert_first_row[owner];
  return start + block * std::max<std::int64_t>(map.block_rows, 1);
}

OperandRegion region_of_cell(const engine::ScaleMap& map, int row, int column,
                             const std::function<std::int64_t(double)>& operand_row) {
  const auto first = [](std::int64_t cell, std::int64_t source, std::int64_t cells) {
    return (cell * source + cells - 1) / cells;
  };
  const auto row_at = [&](std::int64_t source_row) {
    return operand_row(static_cast<double>(source_row));
  };
  const std::int64_t start = row_at(first(row, map.source_rows, map.rows));
  // An expert's last block may have fewer rows than the others.
  const std::int64_t next = first(row + 1, map.source_rows, map.rows);
  const std::int64_t end =
      next < map.source_rows ? row_at(next) : row_at(next - 1) + map.block_rows;
  const std::int64_t left = first(column, map.source_columns, map.columns) * map.block_columns;
  const std::int64_t right = first(column + 1, map.source_columns, map.columns) * map.block_columns;
  return {start, left, std::max<std::int64_t>(end - start, 1),
          std::max<std::int64_t>(right - left, 1)};
}

profiling::Table map_table(const char* owner, std::vector<NamedMap> maps, const char* key) {
  using profiling::column;
  using profiling::Measure;
  return {.name = "map",
          .columns = {column(owner), column("row", Measure::Count),
                      column("column", Measure::Count), column(key, Measure::Number)},
          .rows = [maps = std::move(maps)](const profiling::RowSink& sink) {
            for (const auto& [name, map] : maps) {
              for (int row = 0; row < map->rows; ++row) {
                for (int column = 0; column < map->columns; ++column) {
                  sink({.cells = profiling::cells_of(
                            name, row, column,
                            profiling::known(static_cast<double>(map->at(row, column))))});
                }
              }
            }
          }};
}

std::string no_scales_text(const engine::OperandStatistics& operand, std::string_view what) {
  const engine::MagnitudeHistogram& scales = operand.scale;
  const std::uint64_t others = scales.zeros + scales.infinities + scales.nans;
  if (others == 0) return fmt::format("The operand is empty, so there is no {}.", what);
  return fmt::format("It has {} scale{}, none of them finite and above 0, so there is no {}.",
                     others, others == 1 ? "" : "s", what);
}

}  // namespace app
