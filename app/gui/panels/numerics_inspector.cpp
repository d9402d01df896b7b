#include "app/gui/panels/numerics_inspector.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/sample_cells.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

const char* name_of(Operand operand) {
  return operand == Operand::Gradients ? "dY" : operand == Operand::Weights ? "W" : "X";
}

engine::OperandRole role_of(Operand operand) {
  return operand == Operand::Gradients ? engine::OperandRole::Gradients
         : operand == Operand::Weights ? engine::OperandRole::Weights
                                       : engine::OperandRole::Activations;
}

}  // namespace

bool is_inspection(const engine::ComparisonRequest& request) {
  return request.recipes.size() == 1 && request.timed_launches == 0;
}

engine::ComparisonRequest inspection_order(const engine::RunRequest& effective, Operand operand,
                                           std::int64_t row, std::int64_t column) {
  return {.request = effective,
          .weights = operand == Operand::Weights,
          .gradients = operand == Operand::Gradients,
          .recipes = {effective.recipe},
          .sample_row = row,
          .sample_column = column,
          .timed_launches = 0};
}

bool inspects(const engine::ComparisonRequest& done, const engine::RunRequest& effective,
              Operand operand) {
  return is_inspection(done) &&
         answers(done, inspection_order(effective, operand, done.sample_row, done.sample_column));
}

void RunInspector::go_to(const PanelContext& context, const NumericsModel& model, std::int64_t row,
                         std::int64_t column) {
  row_ = row;
  column_ = column;
  picked_row_ = 0;
  picked_column_ = 0;
  if (context.view.from_file || context.view.link.state == LinkState::Lost) return;
  context.commands.push_back(
      inspection_order(model.run().result.effective, model.operand(), row, column));
}

void RunInspector::follow(const PanelContext& context, const NumericsModel& model) {
  const auto& comparisons = context.view.comparisons;
  const bool looked = generation_ == model.generation() && seen_ == comparisons.size() &&
                      (comparisons.empty() || shown_ == nullptr || shown_ == comparisons.back());
  if (looked) return;
  generation_ = model.generation();
  seen_ = comparisons.size();
  RecipesModel::Comparison found;
  for (const RecipesModel::Comparison& one : comparisons) {
    const engine::RecipeComparison& comparison = one->comparison;
    if (inspects(comparison.request, model.run().result.effective, model.operand()) &&
        !comparison.reports.empty() && comparison.reports.front().sample.rows > 0) {
      found = one;
    }
  }
  if (found == shown_) return;
  shown_ = std::move(found);
  overlay_ = {};
  if (shown_ == nullptr) return;
  const engine::QuantizationReport& report = shown_->comparison.reports.front();
  overlay_.report = &report;
  overlay_.name = recipe_text(report.recipe);
  overlay_.format = code_format(report.recipe, role_of(model.operand()));
  overlay_.transformed =
      transformed_codes(report.recipe, role_of(model.operand()), report.columnwise);
  overlay_.color = context.theme.colors.accent;
  picked_row_ = static_cast<int>(
      std::clamp<std::int64_t>(row_ - report.sample.row, 0, report.sample.rows - 1));
  picked_column_ = static_cast<int>(
      std::clamp<std::int64_t>(column_ - report.sample.column, 0, report.sample.columns - 1));
}

std::string RunInspector::list() const {
  if (shown_ == nullptr) return {};
  const engine::QuantizationSample& sample = overlay_.report->sample;
  std::string text = "row\tcolumn\tx\tcode\tbits\tscale_inv\tdecoded\tulp\n";
  for (std::size_t i = 0; i < sample.codes.size(); ++i) {
    text += fmt::format("{}\t{:.4f}\n", element_fields(overlay_, i), steps_to_code(overlay_, i));
  }
  return text;
}

void RunInspector::draw(const PanelContext& context, const NumericsModel& model, const Area& area) {
  follow(context, model);
  if (shown_ == nullptr) return draw_nothing(context, model, area);
  const Theme& theme = context.theme;
  ImGui::SetCursorScreenPos(area.at);
  draw_controls(context, model);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Area rest{at, ImVec2(area.size.x, area.end().y - at.y)};
  const float line = theme.fonts.mono->FontSize + theme.px(2);
  const float text = 5.0F * line;
  const float cells = std::max(rest.size.y - text - theme.px(kGap), 3.0F * line);
  draw_sample_cells(context, "numerics.cells", overlay_, static_cast<CellField>(field_),
                    {rest.at, ImVec2(rest.size.x, cells)}, picked_row_, picked_column_);
  draw_arithmetic(context, model,
                  {ImVec2(rest.at.x, rest.at.y + cells + theme.px(kGap)),
                   ImVec2(rest.size.x, std::max(rest.size.y - cells - theme.px(kGap), line))});
}

void RunInspector::draw_controls(const PanelContext& context, const NumericsModel& model) {
  const Theme& theme = context.theme;
  const engine::QuantizationSample& sample = overlay_.report->sample;
  controls::Options options{.enabled = !context.view.from_file,
                            .reason = "A recording holds only the elements that were inspected",
                            .tooltip = "First row of the elements; a click on the map sets both",
                            .width = theme.px(52)};
  const engine::ShapeSpec& shape = model.run().result.effective.shape;
  const bool weights = model.operand() == Operand::Weights;
  const std::int64_t rows = weights ? shape.n * shape.num_experts : shape.tokens;
  const std::int64_t columns = model.operand() == Operand::Gradients ? shape.n : shape.k;
  std::int64_t row = sample.row;
  std::int64_t column = sample.column;
  bool moved = controls::drag_int(context, "numerics.sample_row", "row", row, 0,
                                  std::max<std::int64_t>(rows - 1, 0), 0, options);
  ImGui::SameLine(0, theme.px(kGap));
  options.tooltip = "First column of the elements";
  moved |= controls::drag_int(context, "numerics.sample_column", "col", column, 0, columns - 1, 0,
                              options);
  if (moved) go_to(context, model, row, column);
  ImGui::SameLine(0, theme.px(kGap));
  controls::combo(context, "numerics.sample_field", "", field_, cell_fields(),
                  {.tooltip = "What the cells show", .width = theme.px(70)});
}

void RunInspector::draw_arithmetic(const PanelContext& context, const NumericsModel& model,
                                   const Area& area) {
  const Theme& theme = context.theme;
  const engine::QuantizationSample& sample = overlay_.report->sample;
  const ElementReading reading = read_element(overlay_, picked_row_, picked_column_);
  const std::string lines[] = {
      fmt::format("{}[{}, {}] = {}", name_of(model.operand()), sample.row + picked_row_,
                  sample.column + picked_column_, reading.original),
      fmt::format("{}  {}", overlay_.format.name, reading.code),
      reading.value,
      reading.decoded,
      reading.error,
  };
  const ImFont* font = theme.fonts.mono;
  const float line = font->FontSize + theme.px(2);
  std::string all;
  for (std::size_t i = 0; i < std::size(lines); ++i) {
    plot::draw_text(ImGui::GetWindowDrawList(), font,
                    ImVec2(area.at.x, area.at.y + line * static_cast<float>(i)),
                    i == 0 ? theme.colors.dim_text : theme.colors.text,
                    plot::fitted(font, lines[i], area.size.x));
    all += (i == 0 ? "" : "\n") + lines[i];
  }
  if (ImGui::IsMouseHoveringRect(area.at, area.end()) && ImGui::IsWindowHovered()) {
    controls::tooltip(context, all);
  }
  controls::record(context, "numerics.arithmetic", "arithmetic of the element", "text", all,
                   area.at, area.end());
}

void RunInspector::draw_nothing(const PanelContext& context, const NumericsModel& model,
                                const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const SessionView& view = context.view;
  if (!model.quantized()) {
    draw_empty(context, area.size, "BF16 has no codes",
               "The recipe leaves the operands as they are. Choose an FP8 recipe in the rail.", "",
               nullptr);
    return;
  }
  if (view.comparing) {
    draw_empty(context, area.size, "Fetching elements",
               "The worker quantizes the operand once more and sends 32 x 32 elements.", "",
               nullptr);
    return;
  }
  if (view.from_file) {
    const bool compared = !view.comparisons.empty();
    if (draw_empty(context, area.size, "No elements of this run",
                   compared ? "The recording has elements in its recipe comparison."
                            : "Elements are recorded when a block is clicked while a worker is "
                              "running. Run the request in the rail to see some.",
                   "numerics.recipe_elements", compared ? "Show the recipes" : nullptr)) {
      context.commands.push_back(ShowPage{Page::Numerics, "recipes"});
    }
    return;
  }
  const bool lost = view.link.state == LinkState::Lost;
  const std::string sentence = lost ? "There is no worker: start one first."
                               : view.comparison_error.empty()
                                   ? "Click a block of the map, or start at the first element."
                                   : view.comparison_error;
  if (draw_empty(context, area.size, "No elements yet", sentence, "numerics.inspect",
                 lost ? nullptr : "Inspect")) {
    go_to(context, model, 0, 0);
  }
}

}  // namespace app
