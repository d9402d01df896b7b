// Values, scales, codes and scale maps of the overlaid recipes.
#include <fmt/format.h>

#include <algorithm>

#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/recipes_view.h"
#include "app/gui/plot/histogram_plot.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

using BinsOf = plot::Bins RecipeOverlay::*;

std::vector<const plot::Bins*> all_of(const std::vector<RecipeOverlay>& overlays, BinsOf which) {
  std::vector<const plot::Bins*> all;
  for (const RecipeOverlay& overlay : overlays) all.push_back(&(overlay.*which));
  return all;
}

std::vector<plot::HistogramSeries> series_of(const std::vector<RecipeOverlay>& overlays,
                                             BinsOf which) {
  std::vector<plot::HistogramSeries> series;
  for (const RecipeOverlay& overlay : overlays) {
    series.push_back(
        {.name = overlay.name, .color = overlay.color, .bins = &(overlay.*which), .filled = false});
  }
  return series;
}

std::string bins_list(const std::vector<RecipeOverlay>& overlays, BinsOf which, char separator) {
  std::string text = fmt::format("recipe{0}from{0}to{0}count\n", separator);
  for (const RecipeOverlay& overlay : overlays) {
    const plot::Bins& bins = overlay.*which;
    for (std::size_t i = 0; i < bins.counts.size(); ++i) {
      if (bins.counts[i] == 0.0) continue;
      text += fmt::format("{1}{0}{2:.4f}{0}{3:.4f}{0}{4:.0f}\n", separator, overlay.name,
                          bins.edges[i], bins.edges[i + 1], bins.counts[i]);
    }
  }
  return text;
}

CardSpec overlay_card(const char* id, const char* title, const char* question, const char* measured,
                      const std::vector<RecipeOverlay>& overlays, BinsOf which) {
  CardSpec spec;
  spec.id = id;
  spec.title = title;
  spec.question = question;
  spec.measured = measured;
  spec.text = [&overlays, which] { return bins_list(overlays, which, '\t'); };
  spec.csv = [&overlays, which] { return bins_list(overlays, which, ','); };
  return spec;
}

void draw_unchosen(const PanelContext& context, ImVec2 room) {
  draw_empty(context, room, "No recipe chosen", "Click up to three rows of the table.", "",
             nullptr);
}

}  // namespace

void RecipesView::draw_legend(const PanelContext& context, const Area& area, bool before) const {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  float x = area.end().x;
  const auto entry = [&](const std::string& name, ImU32 color) {
    x -= plot::text_size(theme.fonts.label, name).x;
    if (x < area.at.x + theme.px(100)) return;
    plot::draw_text(draw, theme.fonts.label, ImVec2(x, area.at.y), theme.colors.text, name);
    x -= theme.px(12);
    const float top = area.at.y + 0.5F * (theme.fonts.label->FontSize - theme.px(8));
    draw->AddRectFilled(ImVec2(x, top), ImVec2(x + theme.px(8), top + theme.px(8)), color,
                        theme.px(1));
    x -= theme.px(kGap);
  };
  const std::vector<RecipeOverlay>& overlays = model_.overlays();
  for (auto one = overlays.rbegin(); one != overlays.rend(); ++one) entry(one->name, one->color);
  if (before) entry("before", theme.colors.dim_text);
}

void RecipesView::draw_values(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  CardSpec spec = overlay_card(
      "recipes.values_card", "Values", "Which magnitudes survive each recipe?",
      "Exact counts of |x| before and of |decoded x| after, four bins per power of two.",
      model_.overlays(), &RecipeOverlay::after);
  spec.header_widgets = context.theme.px(80);
  Card card(context, spec, area.size);
  card.begin_header_widgets();
  int log = log_counts_ ? 1 : 0;
  if (controls::segmented(context, "recipes.counts", log, {"lin", "log"},
                          {.tooltip = "Heights of the histograms", .width = spec.header_widgets})) {
    log_counts_ = log == 1;
  }
  card.end_header_widgets();
  const ImVec2 room = card.room();
  const Area at{ImGui::GetCursorScreenPos(), room};
  if (model_.overlays().empty()) return draw_unchosen(context, room);
  std::vector<const plot::Bins*> all = all_of(model_.overlays(), &RecipeOverlay::after);
  all.push_back(&model_.before());
  std::vector<plot::HistogramSeries> series = series_of(model_.overlays(), &RecipeOverlay::after);
  series.insert(
      series.begin(),
      {.name = "before", .color = context.theme.colors.dim_text, .bins = &model_.before()});
  plot::HistogramSpec histogram{.id = "##recipes.values", .size = room};
  histogram.x = {.kind = plot::AxisKind::Log2,
                 .label = "|x|",
                 .limits = plot::histogram_limits(all, plot::AxisKind::Log2)};
  if (histogram.x.limits.empty()) histogram.x.limits = {-8.0, 8.0};
  histogram.y_label = "values / octave";
  histogram.log_y = log_counts_;
  plot::draw_histogram(context, histogram, series, value_view_);
  draw_legend(context, at, true);
  controls::record(context, "recipes.value_histogram", "values of the chosen recipes", "plot",
                   fmt::format("series={}", series.size()), at.at, at.end());
}

void RecipesView::draw_scales(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  Card card(
      context,
      overlay_card("recipes.scales_card", "Scales", "How many scales are there, and how far apart?",
                   "The factor by which an element is multiplied before it is coded, one "
                   "count per scale, four bins per power of two.",
                   model_.overlays(), &RecipeOverlay::scale),
      area.size);
  const ImVec2 room = card.room();
  const Area at{ImGui::GetCursorScreenPos(), room};
  if (model_.overlays().empty()) return draw_unchosen(context, room);
  plot::HistogramSpec histogram{.id = "##recipes.scales", .size = room};
  histogram.x = {.kind = plot::AxisKind::Log2,
                 .label = "scale",
                 .limits = plot::histogram_limits(all_of(model_.overlays(), &RecipeOverlay::scale),
                                                  plot::AxisKind::Log2)};
  if (histogram.x.limits.empty()) histogram.x.limits = {-8.0, 8.0};
  histogram.y_label = "scales / octave";
  histogram.log_y = log_counts_;
  plot::draw_histogram(context, histogram, series_of(model_.overlays(), &RecipeOverlay::scale),
                       scale_view_);
  draw_legend(context, at, false);
  controls::record(context, "recipes.scale_histogram", "scales of the chosen recipes", "plot",
                   fmt::format("series={}", model_.overlays().size()), at.at, at.end());
}

void RecipesView::draw_codes(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  CardSpec spec =
      overlay_card("recipes.codes_card", "Codes", "Which of its codes does a recipe use?",
                   "Counts of every code over all elements, in the order of their bits: positive "
                   "ones left, negative ones right. A four-bit code is drawn sixteen wide.",
                   model_.overlays(), &RecipeOverlay::codes);
  for (const RecipeOverlay& overlay : model_.overlays()) {
    spec.note += fmt::format("{}{} of {}", spec.note.empty() ? "used " : ", ", overlay.codes_used,
                             overlay.report->code_counts.size());
  }
  const std::string used = spec.note;
  Card card(context, spec, area.size);
  const ImVec2 room = card.room();
  const Area at{ImGui::GetCursorScreenPos(), room};
  if (model_.overlays().empty()) return draw_unchosen(context, room);
  plot::HistogramSpec histogram{.id = "##recipes.codes", .size = room};
  histogram.x = {.kind = plot::AxisKind::Integer, .label = "code", .limits = {0.0, 256.0}};
  histogram.y_label = "elements";
  histogram.log_y = log_counts_;
  histogram.per_bin = true;
  histogram.end_bins = false;
  plot::draw_histogram(context, histogram, series_of(model_.overlays(), &RecipeOverlay::codes),
                       code_view_);
  draw_legend(context, at, false);
  controls::record(context, "recipes.code_histogram", "codes of the chosen recipes", "plot", used,
                   at.at, at.end());
}

void RecipesView::draw_maps(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const auto listed = [this](char separator) {
    std::string text = fmt::format("recipe{0}row{0}column{0}log2_scale_inv\n", separator);
    for (const RecipeOverlay& overlay : model_.overlays()) {
      for (int row = 0; row < overlay.map.rows; ++row) {
        for (int column = 0; column < overlay.map.columns; ++column) {
          text += fmt::format("{1}{0}{2}{0}{3}{0}{4:.4f}\n", separator, overlay.name, row, column,
                              static_cast<double>(overlay.map.at(row, column)));
        }
      }
    }
    return text;
  };
  Card card(context,
            {.id = "recipes.maps_card",
             .title = "Scale maps",
             .question = "Where are the scales large? One colour scale for all maps; a click shows "
                         "the elements there.",
             .note = "log2 of scale_inv, same colours",
             .measured = "log2 of the factor that decodes an element, of every block. Maps with "
                         "more than 512 blocks along a side are folded to the largest.",
             .text = [listed] { return listed('\t'); },
             .csv = [listed] { return listed(','); }},
            area.size);
  const Area room{ImGui::GetCursorScreenPos(), card.room()};
  if (model_.overlays().empty()) return draw_unchosen(context, room.size);
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
  const float side = theme.px(8);
  const float chip_top = area.at.y + 0.5F * (font->FontSize - side);
  draw->AddRectFilled(ImVec2(area.at.x, chip_top), ImVec2(area.at.x + side, chip_top + side),
                      overlay.color, theme.px(1));
  plot::draw_text(
      draw, font, ImVec2(area.at.x + side + theme.px(kGapSmall), area.at.y), theme.colors.text,
      plot::fitted(font,
                   fmt::format("{}, {} x {}", overlay.name, map.block_rows, map.block_columns),
                   area.size.x - side));
  const float title = font->FontSize + theme.px(kGapSmall);
  const Area plot_area{ImVec2(area.at.x, area.at.y + title),
                       ImVec2(area.size.x, area.size.y - title)};
  ImGui::SetCursorScreenPos(plot_area.at);
  const std::string id = fmt::format("recipes.map.{}", index);
  const plot::Range colors = model_.map_colors();
  if (overlay.map.rows == 0) {
    draw_empty(context, plot_area.size, "No scales", "The operand is empty.", "", nullptr);
  } else {
    const plot::HeatmapHover hover = plot::draw_heatmap(
        context,
        {.id = ("##" + id).c_str(),
         .size = plot_area.size,
         .separators = overlay.separators,
         .source_rows = static_cast<double>(map.source_rows),
         .source_columns = static_cast<double>(map.source_columns),
         .colors = colors,
         .legend_ends = {fmt::format("2^{:.1f}", colors.min), fmt::format("2^{:.1f}", colors.max)}},
        overlay.map, model_.generation(), maps_[index]);
    if (hover.inside) {
      const std::int64_t row = model_.operand_row(map, hover.source_row);
      const std::int64_t column = static_cast<std::int64_t>(hover.source_column) *
                                  std::max<std::int64_t>(map.block_columns, 1);
      const auto value = static_cast<double>(overlay.map.at(hover.row, hover.column));
      plot::read_out(context, overlay.name,
                     {{"from row", std::to_string(row), 0},
                      {"from column", std::to_string(column), 0},
                      {"scale_inv", plot::log2_text(value), 0}});
      if (hover.clicked) go_to(context, row, column);
    }
  }
  controls::record(
      context, id.c_str(), overlay.name.c_str(), "plot",
      fmt::format("source_rows={};source_columns={}", map.source_rows, map.source_columns),
      plot_area.at, plot_area.end());
}

}  // namespace app
