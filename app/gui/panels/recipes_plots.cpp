// Values, scales, codes and scale maps of the overlaid recipes.
#include <fmt/format.h>

#include <algorithm>

#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/recipes_view.h"
#include "app/gui/plot/histogram_plot.h"
#include "app/gui/plot/plot_text.h"
#include "app/plot/scale_maps.h"

namespace app {
namespace {

using BinsOf = plot::Bins RecipeOverlay::*;

std::vector<plot::HistogramSeries> series_of(const std::vector<RecipeOverlay>& overlays,
                                             BinsOf which) {
  std::vector<plot::HistogramSeries> series;
  for (const RecipeOverlay& overlay : overlays) {
    series.push_back(
        {.name = overlay.name, .color = overlay.color, .bins = &(overlay.*which), .filled = false});
  }
  return series;
}

profiling::Table bins_of(const std::vector<RecipeOverlay>& overlays, BinsOf which,
                         const plot::BinEdges& edges) {
  std::vector<plot::NamedBins> all;
  for (const RecipeOverlay& overlay : overlays) all.push_back({overlay.name, &(overlay.*which)});
  return plot::bins_table("recipe", std::move(all), edges);
}

struct OverlayPlot {
  const char* legend = "";  // its id
  BinsOf which;
  const plot::Bins* before = nullptr;  // null = only after
  plot::HistogramSpec histogram{};     // without its size
};

/// Draws all overlaid recipes, with a legend.
void draw_overlay(const PanelContext& context, const Area& room, const OverlayPlot& overlay,
                  const std::vector<RecipeOverlay>& overlays, plot::PlotView& view) {
  const ImU32 dim = context.theme.colors.dim_text;
  std::vector<plot::HistogramSeries> series = series_of(overlays, overlay.which);
  std::vector<plot::LegendEntry> legend;
  std::vector<const plot::Bins*> all;
  if (overlay.before != nullptr) {
    series.insert(series.begin(), {.name = "before", .color = dim, .bins = overlay.before});
  }
  for (const plot::HistogramSeries& one : series) {
    legend.push_back({one.name, one.color});
    all.push_back(one.bins);
  }
  plot::HistogramSpec histogram = overlay.histogram;
  const float below = plot::draw_legend(context,
                                        {.id = overlay.legend,
                                         .right = ImVec2(room.end().x, room.at.y),
                                         .left = room.at.x + context.theme.px(88),
                                         .gap = context.theme.px(kGap)},
                                        legend);
  const Area under = room.below(below);
  ImGui::SetCursorScreenPos(under.at);
  histogram.size = under.size;
  if (histogram.x.kind == plot::AxisKind::Log2) {
    histogram.x.limits = plot::histogram_limits(all, plot::AxisKind::Log2);
    if (histogram.x.limits.empty()) histogram.x.limits = {-8.0, 8.0};
  }
  plot::draw_histogram(context, histogram, series, view);
}

}  // namespace

EmptyState RecipesView::none_chosen() const {
  if (!model_.overlays().empty()) return {};
  return {"No recipe chosen", "Click up to three rows of the table."};
}

CardSpec RecipesView::values_card(const PanelContext& context) {
  const float widgets = context.theme.px(80);
  const auto choose_counts = [this, &context, widgets] {
    controls::either(context, "recipes.counts", log_counts_, "lin", "log",
                     {.tooltip = "Heights of the histograms", .width = widgets});
  };
  return {
      .id = "recipes.values_card",
      .title = "Values",
      .question = "Which magnitudes survive each recipe?",
      .measured =
          "Exact counts of |x| before and of |decoded x| after, four bins per power of two.",
      .list =
          [this] { return bins_of(model_.overlays(), &RecipeOverlay::after, plot::kLog2Edges); },
      .header_widgets = widgets,
      .header = choose_counts,
      .empty = [this] { return none_chosen(); },
      .draw =
          [this, &context](const Area& room) {
            draw_overlay(context, room,
                         {.legend = "recipes.values_legend",
                          .which = &RecipeOverlay::after,
                          .before = &model_.before(),
                          .histogram = {.id = "##recipes.values",
                                        .x = {.kind = plot::AxisKind::Log2, .label = "|x|"},
                                        .y_label = "values / octave",
                                        .log_y = log_counts_}},
                         model_.overlays(), value_view_);
          },
      .read_out = {"recipes.value_histogram", "values of the chosen recipes",
                   [this] { return fmt::format("series={}", model_.overlays().size() + 1); }}};
}

CardSpec RecipesView::scales_card(const PanelContext& context) {
  return {
      .id = "recipes.scales_card",
      .title = "Scales",
      .question = "How many scales are there, and how far apart?",
      .measured =
          "The factor by which an element is multiplied before it is coded, one "
          "count per scale, four bins per power of two.",
      .list =
          [this] { return bins_of(model_.overlays(), &RecipeOverlay::scale, plot::kLog2Edges); },
      .empty = [this] { return none_chosen(); },
      .draw =
          [this, &context](const Area& room) {
            draw_overlay(context, room,
                         {.legend = "recipes.scales_legend",
                          .which = &RecipeOverlay::scale,
                          .histogram = {.id = "##recipes.scales",
                                        .x = {.kind = plot::AxisKind::Log2, .label = "scale"},
                                        .y_label = "scales / octave",
                                        .log_y = log_counts_}},
                         model_.overlays(), scale_view_);
          },
      .read_out = {"recipes.scale_histogram", "scales of the chosen recipes",
                   [this] { return fmt::format("series={}", model_.overlays().size()); }}};
}

CardSpec RecipesView::codes_card(const PanelContext& context) {
  std::string used;
  for (const RecipeOverlay& overlay : model_.overlays()) {
    used += fmt::format("{}{} of {}", used.empty() ? "used " : ", ", overlay.codes_used,
                        overlay.report->code_counts.size());
  }
  return {
      .id = "recipes.codes_card",
      .title = "Codes",
      .question = "Which of its codes does a recipe use?",
      .note = used,
      .measured =
          "Counts of every code over all elements, in the order of their bits: positive "
          "ones left, negative ones right. A four-bit code is drawn sixteen wide.",
      .list =
          [this] { return bins_of(model_.overlays(), &RecipeOverlay::codes, plot::kCodeEdges); },
      .empty = [this] { return none_chosen(); },
      .draw =
          [this, &context](const Area& room) {
            draw_overlay(context, room,
                         {.legend = "recipes.codes_legend",
                          .which = &RecipeOverlay::codes,
                          .histogram = {.id = "##recipes.codes",
                                        .x = {.kind = plot::AxisKind::Integer,
                                              .label = "code",
                                              .limits = {0.0, 256.0}},
                                        .y_label = "elements",
                                        .log_y = log_counts_,
                                        .per_bin = true,
                                        .end_bins = false}},
                         model_.overlays(), code_view_);
          },
      .read_out = {"recipes.code_histogram", "codes of the chosen recipes",
                   [used] { return used; }}};
}

CardSpec RecipesView::maps_card(const PanelContext& context) {
  const auto listed = [this] {
    std::vector<NamedMap> maps;
    for (const RecipeOverlay& overlay : model_.overlays()) {
      maps.push_back({overlay.name, &overlay.map});
    }
    return map_table("recipe", std::move(maps), "log2_scale_inv");
  };
  return {.id = "recipes.maps_card",
          .title = "Scale maps",
          .question =
              "Where are the scales large? One colour scale for all maps; a click shows "
              "the elements there.",
          .note = "log2 of scale_inv, same colours",
          .measured =
              "log2 of the factor that decodes an element, of every block. Maps with "
              "more than 512 blocks along a side are folded to the largest.",
          .list = listed,
          .empty = [this] { return none_chosen(); },
          .draw = [this, &context](const Area& room) { draw_maps(context, room); }};
}

void RecipesView::draw_maps(const PanelContext& context, const Area& room) {
  const std::vector<float> shares(model_.overlays().size(), 1.0F);
  const bool side_by_side = room.size.x > context.theme.px(130) * static_cast<float>(shares.size());
  const std::vector<Area> parts = side_by_side ? columns_of(room, context.theme.px(kGap), shares)
                                               : rows_of(room, context.theme.px(kGap), shares);
  for (std::size_t i = 0; i < parts.size(); ++i) draw_map(context, parts[i], i);
}

void RecipesView::draw_map(const PanelContext& context, const Area& area, std::size_t index) {
  const Theme& theme = context.theme;
  const RecipeOverlay& overlay = model_.overlays()[index];
  const engine::ScaleMap& map = overlay.report->statistics.scale_map;
  const ImFont* font = theme.fonts.label;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImVec2 name_at = plot::draw_chip(draw, theme, font, area.at, overlay.color);
  plot::draw_fitted(context, font, name_at, theme.colors.text,
                    fmt::format("{}, {} x {}", overlay.name, map.block_rows, map.block_columns),
                    area.end().x - name_at.x);
  const Area plot_area = area.below(font->FontSize + theme.px(kGapSmall));
  ImGui::SetCursorScreenPos(plot_area.at);
  const std::string id = fmt::format("recipes.map.{}", index);
  const plot::Range colors = model_.map_colors();
  if (overlay.map.rows == 0) {
    draw_empty(context, plot_area.size, "No scale to show",
               no_scales_text(overlay.report->statistics, "map"));
  } else {
    const plot::HeatmapHover hover = plot::draw_heatmap(
        context,
        {.id = ("##" + id).c_str(),
         .size = plot_area.size,
         .separators = overlay.separators,
         .source_rows = static_cast<double>(map.source_rows),
         .source_columns = static_cast<double>(map.source_columns),
         .colors = colors,
         .legend_ends = {plot::power_text(colors.min), plot::power_text(colors.max)}},
        overlay.map, model_.generation(), maps_[index]);
    if (hover.inside) {
      const std::int64_t row = model_.operand_row(map, hover.source_row);
      const std::int64_t column = static_cast<std::int64_t>(hover.source_column) *
                                  std::max<std::int64_t>(map.block_columns, 1);
      const auto value = static_cast<double>(overlay.map.at(hover.row, hover.column));
      plot::read_out(context, overlay.name,
                     {{"from row", std::to_string(row)},
                      {"from column", std::to_string(column)},
                      {"scale_inv", plot::log2_text(value)},
                      {"click", "the largest element here"}});
      if (hover.clicked) {
        go_to(context, region_of_cell(map, hover.row, hover.column, [&](double source_row) {
                return model_.operand_row(map, source_row);
              }));
      }
    }
  }
  controls::record(
      context, id.c_str(), overlay.name.c_str(), "plot",
      fmt::format("source_rows={};source_columns={}", map.source_rows, map.source_columns),
      plot_area.at, plot_area.end());
}

}  // namespace app
