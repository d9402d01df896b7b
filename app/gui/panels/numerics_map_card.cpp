// Where in the operand the scales are large.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/numerics_panel.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/fitted_lines.h"
#include "engine/model/recipe_traits.h"

namespace app {

namespace {

constexpr float kLayerWidth = 118;  // grid pixels

}  // namespace

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
  const int expert = expert_at(map, static_cast<double>(row_first));
  const bool per_tensor = engine::traits_of(model_.recipe()).per_tensor();
  std::vector<plot::ReadOutLine> lines;
  lines.push_back({"expert", expert < 0 ? "n/a" : std::to_string(expert)});
  const auto range_text = [](std::int64_t first, std::int64_t last, std::int64_t block) {
    return fmt::format("{} .. {}", first * block, last * block - 1);
  };
  // With per-tensor scaling a row of the map is an expert: its data rows follow from the splits.
  if (!per_tensor) lines.push_back({"rows", range_text(row_first, row_last, map.block_rows)});
  lines.push_back({"columns", range_text(column_first, column_last, map.block_columns)});
  const float largest = map.maximum[cell];
  // The colour of the cell, beside the number that it shows.
  const auto color = [&](float value, bool shown) {
    const double part =
        (static_cast<double>(value) - model_.map_colors().min) / model_.map_colors().span();
    return shown ? context.theme.sequential(static_cast<float>(part)) : 0;
  };
  const bool mean = model_.layer() == MapLayer::Mean;
  lines.push_back({folded ? "largest scale_inv" : "scale_inv",
                   plot::log2_text(static_cast<double>(largest)),
                   color(largest, model_.layer() == MapLayer::Largest || (mean && !folded))});
  if (folded) {
    lines.push_back({"mean of log2", fmt::format("{:.3f}", static_cast<double>(map.mean[cell])),
                     color(map.mean[cell], mean)});
    lines.push_back({"scales folded here",
                     plot::count_text(static_cast<std::uint64_t>((row_last - row_first) *
                                                                 (column_last - column_first)))});
  }
  lines.push_back({"scale", plot::log2_text(-static_cast<double>(largest))});
  if (folded && cell < map.minimum.size() && cell < map.deviation.size()) {
    lines.push_back(
        {"smallest scale_inv", plot::log2_text(static_cast<double>(map.minimum[cell]))});
    lines.push_back({"std dev of log2", fmt::format("{:.3f}", map.deviation[cell])});
  }
  if (cell < map.saturated_share.size() && cell < map.underflowed_share.size()) {
    lines.push_back({"saturated", plot::share_text(map.saturated_share[cell], 1.0)});
    lines.push_back({"underflowed", plot::share_text(map.underflowed_share[cell], 1.0)});
  }
  lines.push_back({"click", "the largest element here"});
  plot::read_out(context, "", lines);
}

void NumericsPanel::draw_map_layers(const PanelContext& context) {
  const engine::ScaleMap& map = model_.statistics().scale_map;
  std::vector<std::string> items;
  std::vector<controls::Options> options;
  for (int i = 0; i < 6; ++i) {
    const auto layer = static_cast<MapLayer>(i);
    items.emplace_back(words_of(layer).item);
    options.push_back({.enabled = map.rows == 0 || map_layer(map, layer).rows > 0,
                       .reason = "This recording has no such statistic: run again"});
  }
  int layer = static_cast<int>(model_.layer());
  if (controls::combo(context, "numerics.map_layer", "", layer, items,
                      {.tooltip = "What a cell of the map shows",
                       .width = context.theme.px(kLayerWidth - kGap)},
                      options)) {
    model_.choose_layer(static_cast<MapLayer>(layer));
  }
}

void NumericsPanel::inspect_at(const PanelContext& context, const plot::HeatmapHover& hover) {
  lower_ = 1;
  inspector_.go_to(context, model_,
                   region_of_cell(model_.statistics().scale_map, hover.row, hover.column,
                                  [this](double row) { return model_.operand_row(row); }));
}

CardSpec NumericsPanel::map_card(const PanelContext& context) {
  const engine::ScaleMap& map = model_.statistics().scale_map;
  return {.id = "numerics.map_card",
          .title = "Block-scale map",
          .question = "Where in the tensor are the scales large? Lines separate the experts.",
          .note = map_size_text(map),
          .measured =
              "log2 of scale_inv of every block. Tensors with more than 512 blocks along a "
              "side are folded; the choice in the header sets which statistic of its scales "
              "a cell shows. Saturated and underflowed are shares of the "
              "elements of a cell; the line above covers all scales, before folding.",
          .list =
              [this] {
                return map_table("operand", {{model_.operand_name(), &model_.map()}},
                                 words_of(model_.layer()).key);
              },
          .header_widgets = context.theme.px(kLayerWidth),
          .header = [this, &context] { draw_map_layers(context); },
          .draw = [this, &context](const Area& room) { draw_map(context, room); }};
}

void NumericsPanel::draw_map(const PanelContext& context, const Area& room) {
  const Theme& theme = context.theme;
  const engine::ScaleMap& map = model_.statistics().scale_map;
  const std::string summary = summary_text(map.summary);
  Area below = room;
  if (!summary.empty()) {
    const ImFont* font = theme.fonts.label;
    const std::string line = "log2 scale_inv: " + summary;
    const std::string shown = plot::fitted(font, line, room.size.x);
    plot::draw_text(ImGui::GetWindowDrawList(), font, room.at, theme.colors.text, shown);
    const ImVec2 end(room.end().x, room.at.y + font->FontSize);
    if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(room.at, end)) {
      controls::tooltip(context, with_whole(shown, line));
    }
    below = room.below(font->FontSize + theme.px(kGapSmall));
    ImGui::SetCursorScreenPos(below.at);
  }
  controls::record(context, "numerics.map_summary", "summary of the scales", "text", summary,
                   room.at, ImVec2(room.end().x, room.at.y + theme.px(14)));
  if (map.rows == 0) {
    draw_empty(context, below.size, no_scales("map of scales"));
  } else if (model_.map().rows == 0) {
    draw_empty(context, below.size, "Not in this recording",
               "It was made before saturation and spread were counted per block. Run again, "
               "or choose the largest or the mean.");
  } else {
    const plot::Range colors = model_.map_colors();
    const MapWords& words = words_of(model_.layer());
    const bool folded = map.rows < map.source_rows || map.columns < map.source_columns;
    const plot::HeatmapHover hover =
        plot::draw_heatmap(context,
                           {.id = "##numerics.map",
                            .size = below.size,
                            .x_label = "scale column",
                            .y_label = "scale row",
                            .separators = model_.separators(),
                            .source_rows = static_cast<double>(map.source_rows),
                            .source_columns = static_cast<double>(map.source_columns),
                            .colors = colors,
                            .legend = folded ? words.folded : words.legend,
                            .legend_ends = {map_value_text(model_.layer(), colors.min),
                                            map_value_text(model_.layer(), colors.max)}},
                           model_.map(), model_.map_generation(), map_state_);
    if (hover.inside) draw_map_read_out(context, hover);
    if (hover.inside && hover.clicked) inspect_at(context, hover);
  }
  controls::record(context, "numerics.scale_map", "block-scale map", "plot",
                   fmt::format("layer={};rows={};columns={};source_rows={};source_columns={};"
                               "experts={}",
                               words_of(model_.layer()).item, map.rows, map.columns,
                               map.source_rows, map.source_columns,
                               map.expert_first_row.empty() ? 0 : map.expert_first_row.size() - 1),
                   below.at, below.end());
}

}  // namespace app
