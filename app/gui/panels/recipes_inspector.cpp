// The sample of the operand, element by element, and the arithmetic of one of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/element_inspector.h"
#include "app/gui/panels/recipes_view.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

std::string sample_list(const std::vector<RecipeOverlay>& overlays) {
  std::string text = "recipe\trow\tcolumn\tx\tcode\tbits\tscale_inv\tdecoded\n";
  for (const RecipeOverlay& overlay : overlays) {
    for (std::size_t i = 0; i < overlay.report->sample.codes.size(); ++i) {
      text += fmt::format("{}\t{}\n", overlay.name, element_fields(overlay, i));
    }
  }
  return text;
}

}  // namespace

void RecipesView::go_to(const PanelContext& context, std::int64_t row, std::int64_t column) {
  sample_row_ = row;
  sample_column_ = column;
  sample_.picked_row = 0;
  sample_.picked_column = 0;
  if (!context.view.from_file) orders_.send(context, wanted(context));
}

void RecipesView::draw_sample_controls(const PanelContext& context) {
  std::int64_t row = sample_row_;
  std::int64_t column = sample_column_;
  if (draw_sample_position(context,
                           {.row_id = "recipes.row",
                            .column_id = "recipes.column",
                            .column_label = "column",
                            .width = 56,
                            .map = "a scale map",
                            .recorded = "A recording holds one sample: compare live for another",
                            .rows = model_.operand_rows(),
                            .columns = model_.comparison().request.request.shape.k},
                           row, column)) {
    go_to(context, row, column);
  }
  controls::segmented(context, "recipes.field", sample_.field, cell_fields(),
                      {.tooltip = "What the cells show"});
}

CardSpec RecipesView::elements_card(const PanelContext& context) {
  const std::vector<RecipeOverlay>& overlays = model_.overlays();
  // A click on a line of the arithmetic selects whose cells are shown.
  cell_recipe_ = std::min(cell_recipe_, overlays.empty() ? 0 : overlays.size() - 1);
  return {.id = "recipes.sample_card",
          .title = "Elements",
          .question = "What happens to a single number? Hover a cell for its arithmetic.",
          .note = overlays.empty() ? "" : "cells of " + overlays[cell_recipe_].name,
          .measured =
              "Codes, scales and decoded values as the kernels wrote them, of 32 x 32 "
              "elements. Near the end of the operand the sample moves up and left.",
          .list = [this] { return sample_list(model_.overlays()); },
          .empty = [this] { return none_chosen(); },
          .draw = [this, &context](const Area&) { draw_elements(context); }};
}

void RecipesView::draw_elements(const PanelContext& context) {
  draw_sample_controls(context);
  const Theme& theme = context.theme;
  const Area room{ImGui::GetCursorScreenPos(), ImGui::GetContentRegionAvail()};
  const float line = theme.fonts.mono->FontSize + theme.px(2);
  const float text = line * (1.0F + 2.0F * static_cast<float>(model_.overlays().size()));
  const bool side_by_side = room.size.x > theme.px(860);
  const float gap = theme.px(kGap);
  const std::vector<Area> parts =
      side_by_side ? columns_of(room, gap, {1.0F, 1.0F})
                   : rows_of(room, gap, {std::max(room.size.y - text - gap, 3 * line), text});
  draw_sample_cells(context, "recipes.cells", model_.overlays()[cell_recipe_], parts[0], sample_);
  draw_arithmetic(context, parts[1]);
}

void RecipesView::draw_arithmetic(const PanelContext& context, const Area& area) {
  const Theme& theme = context.theme;
  const std::vector<RecipeOverlay>& overlays = model_.overlays();
  const engine::QuantizationSample& sample = overlays[cell_recipe_].report->sample;
  ImGui::SetCursorScreenPos(area.at);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::BeginChild("##recipes.arithmetic", area.size, false);
  ImGui::PopStyleVar();
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImFont* font = theme.fonts.mono;
  const float line = font->FontSize + theme.px(2);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::int64_t row = sample.row + sample_.picked_row;
  const std::int64_t column = sample.column + sample_.picked_column;
  const std::string original =
      read_element(overlays[cell_recipe_], sample_.picked_row, sample_.picked_column).original;
  std::string all =
      fmt::format("x = {}[{}, {}] = {}", operand_ == 0 ? "X" : "W", row, column, original);
  plot::draw_text(draw, font, at, theme.colors.text, all);
  float y = at.y + line;
  for (std::size_t i = 0; i < overlays.size(); ++i) {
    const ElementReading reading =
        read_element(overlays[i], sample_.picked_row, sample_.picked_column);
    const ImVec2 low(at.x, y);
    const ImVec2 high(area.end().x, y + 2 * line);
    const std::string first = reading.code + "   " + reading.value;
    const std::string second = reading.decoded + "   " + reading.error;
    ImGui::SetCursorScreenPos(low);
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::InvisibleButton("reading", ImVec2(std::max(high.x - low.x, 1.0F), 2 * line))) {
      cell_recipe_ = i;
    }
    if (ImGui::IsItemHovered()) {
      draw->AddRectFilled(low, high, plot::faded(theme.colors.raised, 0.6F), theme.px(kRounding));
      controls::tooltip(context, overlays[i].name + "\n" + first + "\n" + second +
                                     "\nA click shows its cells above.");
    }
    ImGui::PopID();
    draw->AddRectFilled(ImVec2(low.x, y + theme.px(3)),
                        ImVec2(low.x + theme.px(8), y + theme.px(11)), overlays[i].color,
                        theme.px(1));
    const float left = low.x + theme.px(110);
    plot::draw_text(draw, theme.fonts.label, ImVec2(low.x + theme.px(12), y),
                    i == cell_recipe_ ? theme.colors.text : theme.colors.dim_text,
                    plot::fitted(theme.fonts.label, overlays[i].name, left - low.x - theme.px(14)));
    plot::draw_text(draw, font, ImVec2(left, y), theme.colors.text,
                    plot::fitted(font, first, high.x - left));
    plot::draw_text(draw, font, ImVec2(low.x + theme.px(12), y + line), theme.colors.text,
                    plot::fitted(font, second, high.x - low.x - theme.px(12)));
    controls::record(context, fmt::format("recipes.reading.{}", i).c_str(),
                     overlays[i].name.c_str(), "text", first + "   " + second, low, high);
    all += "\n" + overlays[i].name + ": " + first + "   " + second;
    y += 2 * line;
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy(ImVec2(1, y - at.y));
  ImGui::EndChild();
  controls::record(context, "recipes.arithmetic", "arithmetic of the element", "text", all, area.at,
                   area.end());
}

}  // namespace app
