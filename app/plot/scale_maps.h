// What the rows and columns of a scale map stand for: statistics of its cells, experts, and rows of
// the operand. No ImGui calls.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/plot/grid_fold.h"
#include "engine/model/run_result.h"
#include "profiling/document/table.h"

namespace app {

/// What the cells of a map show.
enum class MapLayer { Largest, Mean, Deviation, Distance, Saturated, Underflowed };

struct MapWords {
  const char* item;    // in the combo box
  const char* legend;  // for an unfolded map
  const char* folded;
  const char* key;  // in files
};
const MapWords& words_of(MapLayer layer);
/// A value of that layer, as the end of a legend says it.
std::string map_value_text(MapLayer layer, double value);
/// "mean 2^-7.31, std dev 0.42, 5 distinct, 3 blocks saturated, 0 underflowed". Empty if the run
/// has not measured it.
std::string summary_text(const engine::ScaleSummary& summary);
/// "128 x 56 scales, one per 1 x 128 elements"; empty without scales.
std::string map_size_text(const engine::ScaleMap& map);

/// A layer of a map as a grid; empty if the run has not measured it.
plot::Grid map_layer(const engine::ScaleMap& map, MapLayer layer);
/// The values at both ends of its colours.
plot::Range map_colors(const plot::Grid& grid, MapLayer layer);
/// Rows of scales at which another expert begins, without the frame of the plot.
std::vector<double> expert_separators(const engine::ScaleMap& map);
/// Expert that owns a row of scales, or -1.
int expert_at(const engine::ScaleMap& map, double source_row);
/// Row of the operand that a row of scales starts with: each expert starts with a new block.
/// `rows_of` gives an expert's rows of the operand.
std::int64_t operand_row(const engine::ScaleMap& map, double source_row,
                         const std::function<std::int64_t(std::size_t)>& rows_of);

/// A region of an operand; where it has no size, the place that a sample begins at.
struct OperandRegion {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
/// All blocks of a cell of the scale map: a folded cell covers several. `operand_row`: the row of
/// the operand that a row of the map, not folded, begins with.
OperandRegion region_of_cell(const engine::ScaleMap& map, int row, int column,
                             const std::function<std::int64_t(double)>& operand_row);

struct NamedMap {
  std::string name;
  const plot::Grid* map = nullptr;
};
/// One row per cell. `owner`: what the names are; `key`: what the cells show. The maps must outlive
/// the table.
profiling::Table map_table(const char* owner, std::vector<NamedMap> maps, const char* key);

/// Why a quantized operand has no scale to show; `what` is not drawn.
std::string no_scales_text(const engine::OperandStatistics& operand, std::string_view what);

}  // namespace app
