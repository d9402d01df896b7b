// Where in the operand the scales are large.
#include <fmt/format.h>

#include <algorithm>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/numerics_panel.h"

namespace app {

void NumericsPanel::draw_map_read_out(const PanelContext& context,
                                      const plot::HeatmapHover& hover) const {
  const engine::ScaleMap& map = model_.statistics().scale_map;
  const auto cell = static_cast<std::size_t>(hover.row) * static_cast<std::size_t>(map.columns) +
                    static_cast<std::size_t>(hover.column);
  const auto extent = [](int index, int cells, std::int64_t source) {
    const std::int64_t first = std::int64_t{index} * source / cells;
    const std::int64_t last = std::max(first + 1, (std::int64_t{index} + 1) * source / cells);
    return std::pair{first, last};
  };
  const auto [row_first, row_last] = extent(hover.row, map.rows, map.source_rows);
  const auto [column_first, column_last] = extent(hover.column, map.columns, map.source_columns);
  const bool folded = row_last - row_first > 1 || column_last - column_first > 1;
  const int expert = model_.expert_at(static_cast<double>(row_first));
  const bool per_tensor =
      model_.run().result.effective.recipe.scaling == engine::Scaling::PerTensorCurrent;
  std::vector<plot::ReadOutLine> lines;
  lines.push_back({"expert", expert < 0 ? "n/a" : std::to_string(expert), 0});
  const auto range_text = [](std::int64_t first, std::int64_t last, std::int64_t block) {
    return fmt::format("{} .. {}", first * block, last * block - 1);
  };
  // For per-tensor scaling a row of the map is an expert: its data rows follow from the splits.
  if (!per_tensor) lines.push_back({"rows", range_text(row_first, row_last, map.block_rows), 0});
  lines.push_back({"columns", range_text(column_first, column_last, map.block_columns), 0});
  const float largest = map.maximum[cell];
  lines.push_back({folded ? "largest scale_inv" : "scale_inv",
                   plot::log2_text(static_cast<double>(largest)),
                   context.theme.sequential(
                       static_cast<float>((static_cast<double>(largest) - model_.map_colors().min) /
                                          model_.map_colors().span()))});
  if (folded) {
    lines.push_back(
        {"mean of log2", fmt::format("{:.3f}", static_cast<double>(map.mean[cell])), 0});
    lines.push_back({"scales folded here",
                     plot::count_text(static_cast<std::uint64_t>((row_last - row_first) *
                                                                 (column_last - column_first))),
                     0});
  }
  lines.push_back({"scale", plot::log2_text(-static_cast<double>(largest)), 0});
  plot::read_out(context, "", lines);
}

void NumericsPanel::draw_map(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const engine::ScaleMap& map = model_.statistics().scale_map;
  const auto listed = [this](char separator) {
    std::string text;
    const plot::Grid& grid = model_.map();
    for (int row = 0; row < grid.rows; ++row) {
      for (int column = 0; column < grid.columns; ++column) {
        text += fmt::format("{}{:.4f}", column > 0 ? std::string(1, separator) : std::string(),
                            static_cast<double>(grid.at(row, column)));
      }
      text += '\n';
    }
    return text;
  };
  Card card(
      context,
      {.id = "numerics.map_card",
       .title = "Block-scale map",
       .question = "Where in the tensor are the scales large? Lines separate the experts.",
       .note = map.rows > 0
                   ? fmt::format("{} x {} scales, one for {} x {} elements",
                                 plot::count_text(static_cast<std::uint64_t>(map.source_rows)),
                                 plot::count_text(static_cast<std::uint64_t>(map.source_columns)),
                                 map.block_rows, map.block_columns)
                   : "",
       .measured = "log2 of scale_inv of every block. Tensors with more than 512 blocks along a "
                   "side are folded; a cell shows the largest of the scales it stands for and "
                   "the read-out adds their mean.",
       .text = [listed] { return listed('\t'); },
       .csv = [listed] { return listed(','); }},
      area.size);
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (model_.map().rows == 0) {
    draw_no_scales(context, room, "map of scales");
  } else {
    const plot::Range colors = model_.map_colors();
    const plot::HeatmapHover hover = plot::draw_heatmap(
        context,
        {.id = "##numerics.map",
         .size = room,
         .x_label = "scale column",
         .y_label = "scale row",
         .separators = model_.separators(),
         .source_rows = static_cast<double>(map.source_rows),
         .source_columns = static_cast<double>(map.source_columns),
         .colors = colors,
         .legend = map.rows < map.source_rows || map.columns < map.source_columns
                       ? "largest scale_inv of a cell"
                       : "scale_inv",
         .legend_ends = {fmt::format("2^{:.1f}", colors.min), fmt::format("2^{:.1f}", colors.max)}},
        model_.map(), model_.generation(), map_state_);
    if (hover.inside) draw_map_read_out(context, hover);
  }
  controls::record(context, "numerics.scale_map", "block-scale map", "plot",
                   fmt::format("rows={};columns={};source_rows={};source_columns={};experts={}",
                               map.rows, map.columns, map.source_rows, map.source_columns,
                               map.expert_first_row.empty() ? 0 : map.expert_first_row.size() - 1),
                   at, ImVec2(at.x + room.x, at.y + room.y));
}

}  // namespace app
