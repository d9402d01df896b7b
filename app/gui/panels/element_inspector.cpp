#include "app/gui/panels/element_inspector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"
#include "engine/model/projections.h"
#include "profiling/document/columns.h"

namespace app {
namespace {

std::string cell_text(const RecipeOverlay& overlay, CellField field, std::size_t index) {
  const engine::QuantizationSample& sample = overlay.report->sample;
  const auto number = [](float value) { return fmt::format("{:.4g}", static_cast<double>(value)); };
  switch (field) {
    case CellField::Original:
      return number(sample.original[index]);
    case CellField::Code:
      return code_hex(overlay.format, sample.codes[index]);
    case CellField::Bits:
      return code_bits(overlay.format, sample.codes[index]);
    case CellField::Scale:
      return number(sample.scale_inv[index]);
    case CellField::Decoded:
      return number(sample.decoded[index]);
    case CellField::Error:
      return number(sample.decoded[index] - sample.original[index]);
    case CellField::Ulp: {
      const double steps = steps_to_code(overlay, index);
      return std::isfinite(steps) ? fmt::format("{:.2f}", steps) : "n/a";
    }
  }
  return {};
}

bool is_weights(engine::StepTensor operand) {
  return operand == engine::StepTensor::WUp || operand == engine::StepTensor::WDown;
}

engine::OperandRole role_of(engine::StepTensor operand) {
  return operand == engine::StepTensor::DY ? engine::OperandRole::Gradients
         : is_weights(operand)             ? engine::OperandRole::Weights
                                           : engine::OperandRole::Activations;
}

/// Whether the Recipes view shows elements of it.
bool has_recipe_elements(const RecipesModel::Comparison& recorded) {
  const engine::RecipeComparison& comparison = recorded->comparison;
  const engine::ComparisonRequest& request = comparison.request;
  return is_shown_on_recipes(request) &&
         std::ranges::any_of(comparison.reports, [](const engine::QuantizationReport& report) {
           return report.sample.rows > 0;
         });
}

struct OperandSize {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// The step whose X, W or dY the operand is.
engine::RunRequest step_of(const NumericsModel& model) {
  const engine::RunRequest& effective = model.run().result.effective;
  return model.operand() == engine::StepTensor::WDown
             ? engine::projection_of(effective, engine::Projection::Down)
             : effective;
}

OperandSize size_of_operand(const NumericsModel& model) {
  const engine::RunRequest step = step_of(model);
  return {is_weights(model.operand()) ? step.shape.n * step.shape.num_experts : step.shape.rows,
          model.operand() == engine::StepTensor::DY ? engine::output_columns(step) : step.shape.k};
}

}  // namespace

const std::vector<std::string>& cell_fields() {
  static const std::vector<std::string> kFields = {"x",     "code",  "bits", "scale",
                                                   "value", "error", "ulp"};
  return kFields;
}

profiling::Table elements_table(std::span<const RecipeOverlay> overlays) {
  using profiling::column;
  using profiling::Measure;
  return {.name = "elements",
          .columns = {column("recipe"), column("row", Measure::Count),
                      column("column", Measure::Count), column("x", Measure::Number),
                      column("code"), column("bits"), column("scale_inv", Measure::Number),
                      column("decoded", Measure::Number), column("ulp", Measure::Number)},
          .rows = [overlays](const profiling::RowSink& sink) {
            // Nine digits tell two FP32 values apart.
            const auto exact = [](float value) {
              return profiling::worded(static_cast<double>(value), fmt::format("{:.9g}", value));
            };
            for (const RecipeOverlay& overlay : overlays) {
              const engine::QuantizationSample& sample = overlay.report->sample;
              const auto columns = static_cast<std::size_t>(sample.columns);
              for (std::size_t i = 0; i < sample.codes.size(); ++i) {
                sink({.cells = profiling::cells_of(
                          overlay.name, sample.row + static_cast<std::int64_t>(i / columns),
                          sample.column + static_cast<std::int64_t>(i % columns),
                          exact(sample.original[i]), code_hex(overlay.format, sample.codes[i]),
                          code_bits(overlay.format, sample.codes[i]), exact(sample.scale_inv[i]),
                          exact(sample.decoded[i]), steps_to_code(overlay, i))});
              }
            }
          }};
}

bool draw_sample_position(const PanelContext& context, const SamplePosition& position,
                          std::int64_t& row, std::int64_t& column) {
  const auto field = [&](const char* id, const char* label, std::int64_t& value, std::int64_t count,
                         const std::string& tooltip) {
    return controls::drag_int(context, id, label, value, 0, std::max<std::int64_t>(count - 1, 0), 0,
                              {.enabled = !context.view.from_file,
                               .reason = position.recorded,
                               .tooltip = tooltip,
                               .width = context.theme.px(position.width)});
  };
  const bool row_moved =
      field(position.row_id, "row", row, position.rows,
            fmt::format("First row of the elements; a click on {} sets both", position.map));
  ImGui::SameLine(0, context.theme.px(kGap));
  const bool column_moved = field(position.column_id, position.column_label, column,
                                  position.columns, "First column of the elements");
  ImGui::SameLine(0, context.theme.px(kGap));
  return row_moved || column_moved;
}

void draw_sample_cells(const PanelContext& context, const char* id, const RecipeOverlay& overlay,
                       const Area& area, SampleView& view) {
  const auto field = static_cast<CellField>(view.field);
  const Theme& theme = context.theme;
  const engine::QuantizationSample& sample = overlay.report->sample;
  const ImFont* font = theme.fonts.mono;
  const float cell_width =
      plot::text_size(font, field == CellField::Bits ? "0 00000 00" : "-0.00001234").x +
      theme.px(kGap);
  const float cell_height = font->FontSize + theme.px(4);
  const float label_width = plot::text_size(theme.fonts.label, "0000000").x + theme.px(kGapSmall);
  const float label_height = theme.fonts.label->FontSize + theme.px(2);
  ImGui::SetCursorScreenPos(area.at);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::BeginChild(id, area.size, false, ImGuiWindowFlags_HorizontalScrollbar);
  ImGui::PopStyleVar();
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const ImVec2 grid(origin.x + label_width, origin.y + label_height);
  const ImVec2 low(area.at.x + label_width, area.at.y + label_height);
  ImGui::Dummy(ImVec2(label_width + cell_width * static_cast<float>(sample.columns),
                      label_height + cell_height * static_cast<float>(sample.rows)));
  const ImVec2 mouse = ImGui::GetMousePos();
  const bool inside = ImGui::IsWindowHovered() && mouse.x >= low.x && mouse.y >= low.y;
  if (inside) {
    const int row = static_cast<int>((mouse.y - grid.y) / cell_height);
    const int column = static_cast<int>((mouse.x - grid.x) / cell_width);
    if (row >= 0 && column >= 0 && row < sample.rows && column < sample.columns) {
      view.picked_row = row;
      view.picked_column = column;
    }
  }
  draw->PushClipRect(low, area.end(), true);
  for (int row = 0; row < sample.rows; ++row) {
    const float y = grid.y + cell_height * static_cast<float>(row);
    if (y + cell_height < low.y || y > area.end().y) continue;
    for (int column = 0; column < sample.columns; ++column) {
      const float x = grid.x + cell_width * static_cast<float>(column);
      if (x + cell_width < low.x || x > area.end().x) continue;
      const auto index = static_cast<std::size_t>(row) * static_cast<std::size_t>(sample.columns) +
                         static_cast<std::size_t>(column);
      if (row == view.picked_row && column == view.picked_column) {
        draw->AddRectFilled(ImVec2(x, y), ImVec2(x + cell_width, y + cell_height),
                            theme.colors.raised);
        draw->AddRect(ImVec2(x, y), ImVec2(x + cell_width, y + cell_height), overlay.color);
      }
      plot::draw_text_right(draw, font,
                            ImVec2(x + cell_width - theme.px(kGapSmall), y + theme.px(2)),
                            theme.colors.text, cell_text(overlay, field, index));
    }
  }
  draw->PopClipRect();
  // Row and column numbers stay in place while the cells scroll.
  draw->PushClipRect(ImVec2(area.at.x, low.y), area.end(), true);
  for (int row = 0; row < sample.rows; ++row) {
    const float y = grid.y + cell_height * static_cast<float>(row) + theme.px(3);
    plot::draw_text_right(draw, theme.fonts.label, ImVec2(low.x - theme.px(kGapSmall), y),
                          theme.colors.dim_text, std::to_string(sample.row + row));
  }
  draw->PopClipRect();
  draw->PushClipRect(ImVec2(low.x, area.at.y), area.end(), true);
  for (int column = 0; column < sample.columns; ++column) {
    const float x = grid.x + cell_width * static_cast<float>(column + 1) - theme.px(kGapSmall);
    plot::draw_text_right(draw, theme.fonts.label, ImVec2(x, area.at.y), theme.colors.dim_text,
                          std::to_string(sample.column + column));
  }
  draw->PopClipRect();
  ImGui::EndChild();
  controls::record(context, id, "elements of the sample", "plot",
                   fmt::format("row={};column={};rows={};columns={};cell_width={:.1f};"
                               "cell_height={:.1f};left={:.1f};top={:.1f}",
                               sample.row, sample.column, sample.rows, sample.columns, cell_width,
                               cell_height, low.x, low.y),
                   area.at, area.end());
}

bool is_inspection(const engine::ComparisonRequest& request) {
  return !request.series && request.recipes.size() == 1 && request.timed_launches == 0;
}

bool is_shown_on_recipes(const engine::ComparisonRequest& request) {
  return !request.series && !request.gradients && !is_inspection(request);
}

bool has_elements(const NumericsModel& model) { return can_inspect(model) && model.quantized(); }

bool can_inspect(const NumericsModel& model) {
  return is_linear_operand(model.operand()) || model.operand() == engine::StepTensor::WDown;
}

engine::ComparisonRequest inspection_order(const NumericsModel& model,
                                           const OperandRegion& region) {
  return {.request = step_of(model),
          .weights = is_weights(model.operand()),
          .gradients = model.operand() == engine::StepTensor::DY,
          .recipes = {model.recipe()},
          .sample_row = region.row,
          .sample_column = region.column,
          .sample_rows = region.rows,
          .sample_columns = region.columns,
          .timed_launches = 0};
}

bool inspects(const engine::ComparisonRequest& done, const NumericsModel& model) {
  return is_inspection(done) && can_inspect(model) &&
         answers(done, inspection_order(model, {done.sample_row, done.sample_column,
                                                done.sample_rows, done.sample_columns}));
}

void RunInspector::go_to(const PanelContext& context, const NumericsModel& model,
                         const OperandRegion& region) {
  if (!has_elements(model)) return;
  chosen_ = true;
  row_ = region.row;
  column_ = region.column;
  asked_for_ = model.generation();
  view_.picked_row = 0;
  view_.picked_column = 0;
  searched_ = region;
  waiting_ = !context.view.from_file && context.view.link.state != LinkState::Lost;
  if (waiting_) return context.commands.push_back(inspection_order(model, region));
  // Nobody can be asked: what is at hand has the region's largest element, or is another place.
  if (shown_ == nullptr || !holds_region()) {
    shown_ = nullptr;
    searched_ = {};
    overlay_ = {};
    return;
  }
  choose_largest(overlay_.report->sample);
  pick_element();
}

void RunInspector::follow(const PanelContext& context, const NumericsModel& model) {
  const auto& comparisons = context.view.comparisons;
  // Not by their number, which stays the same once each new one replaces the oldest.
  const RecipesModel::Comparison newest = comparisons.empty() ? nullptr : comparisons.back();
  if (generation_ == model.generation() && newest_ == newest) return;
  if (generation_ != model.generation() && !waiting_) keep_element();
  generation_ = model.generation();
  newest_ = newest;
  RecipesModel::Comparison found;
  for (const RecipesModel::Comparison& one : comparisons) {
    const engine::RecipeComparison& comparison = one->comparison;
    if (inspects(comparison.request, model) && !comparison.reports.empty() &&
        comparison.reports.front().sample.rows > 0) {
      found = one;
    }
  }
  const bool changed = found != shown_;
  shown_ = std::move(found);
  if (changed) show(context, model);
  if (chosen_ && !holds_element()) ask_again(context, model);
}

void RunInspector::show(const PanelContext& context, const NumericsModel& model) {
  overlay_ = {};
  if (shown_ == nullptr) return;
  waiting_ = false;
  const engine::QuantizationReport& report = shown_->comparison.reports.front();
  overlay_ = overlay_of(report, role_of(model.operand()));
  overlay_.name = recipe_text(report.recipe);
  overlay_.color = context.theme.colors.accent;
  choose_largest(report.sample);
  pick_element();
}

void RunInspector::pick_element() {
  const engine::QuantizationSample& sample = overlay_.report->sample;
  view_.picked_row =
      static_cast<int>(std::clamp<std::int64_t>(row_ - sample.row, 0, sample.rows - 1));
  view_.picked_column =
      static_cast<int>(std::clamp<std::int64_t>(column_ - sample.column, 0, sample.columns - 1));
}

bool RunInspector::holds_region() const {
  const engine::QuantizationSample& sample = overlay_.report->sample;
  const std::int64_t rows = std::max<std::int64_t>(searched_.rows, 1);
  const std::int64_t columns = std::max<std::int64_t>(searched_.columns, 1);
  return searched_.row >= sample.row && searched_.row + rows <= sample.row + sample.rows &&
         searched_.column >= sample.column &&
         searched_.column + columns <= sample.column + sample.columns;
}

/// Of the region that was asked for: the worker has put it into the sample.
void RunInspector::choose_largest(const engine::QuantizationSample& sample) {
  const OperandRegion region = std::exchange(searched_, {});
  float amax = -1.0F;
  for (std::size_t i = 0; i < sample.original.size(); ++i) {
    const std::int64_t row = sample.row + static_cast<std::int64_t>(i) / sample.columns;
    const std::int64_t column = sample.column + static_cast<std::int64_t>(i) % sample.columns;
    const bool inside = row >= region.row && row < region.row + region.rows &&
                        column >= region.column && column < region.column + region.columns;
    const float magnitude = std::abs(sample.original[i]);
    if (!inside || magnitude <= amax || !std::isfinite(magnitude)) continue;
    amax = magnitude;
    row_ = row;
    column_ = column;
  }
}

/// The one that was looked at last, before another run takes the screen.
void RunInspector::keep_element() {
  if (shown_ == nullptr) return;
  row_ = overlay_.report->sample.row + view_.picked_row;
  column_ = overlay_.report->sample.column + view_.picked_column;
}

bool RunInspector::holds_element() const {
  if (shown_ == nullptr) return false;
  const engine::QuantizationSample& sample = overlay_.report->sample;
  const std::int64_t row = row_ - sample.row;
  const std::int64_t column = column_ - sample.column;
  return row >= 0 && row < sample.rows && column >= 0 && column < sample.columns;
}

void RunInspector::ask_again(const PanelContext& context, const NumericsModel& model) {
  const auto [rows, columns] = size_of_operand(model);
  const bool there = row_ < rows && column_ < columns;
  if (!there || !model.quantized() || asked_for_ == model.generation()) return;
  // What was wanted may still be on its way from the run before.
  const bool searching = waiting_ && searched_.rows > 0;
  go_to(context, model, searching ? searched_ : OperandRegion{row_, column_});
}

profiling::Table RunInspector::list() const {
  return elements_table({&overlay_, shown_ == nullptr ? std::size_t{0} : std::size_t{1}});
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
  draw_sample_cells(context, "numerics.cells", overlay_, {rest.at, ImVec2(rest.size.x, cells)},
                    view_);
  draw_arithmetic(context, model,
                  {ImVec2(rest.at.x, rest.at.y + cells + theme.px(kGap)),
                   ImVec2(rest.size.x, std::max(rest.size.y - cells - theme.px(kGap), line))});
}

void RunInspector::draw_controls(const PanelContext& context, const NumericsModel& model) {
  const auto [rows, columns] = size_of_operand(model);
  std::int64_t row = overlay_.report->sample.row;
  std::int64_t column = overlay_.report->sample.column;
  if (draw_sample_position(context,
                           {.row_id = "numerics.sample_row",
                            .column_id = "numerics.sample_column",
                            .column_label = "col",
                            .width = 52,
                            .map = "the map",
                            .recorded = "A recording holds only the elements that were inspected",
                            .rows = rows,
                            .columns = columns},
                           row, column)) {
    go_to(context, model, {row, column});
  }
  controls::combo(context, "numerics.sample_field", "", view_.field, cell_fields(),
                  {.tooltip = "What the cells show", .width = context.theme.px(70)});
}

void RunInspector::draw_arithmetic(const PanelContext& context, const NumericsModel& model,
                                   const Area& area) {
  const Theme& theme = context.theme;
  const engine::QuantizationSample& sample = overlay_.report->sample;
  const ElementReading reading = read_element(overlay_, view_.picked_row, view_.picked_column);
  const std::string lines[] = {
      fmt::format("{}[{}, {}] = {}", model.operand_name(), sample.row + view_.picked_row,
                  sample.column + view_.picked_column, reading.original),
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
  if (!can_inspect(model)) {
    draw_empty(context, area.size, "Only inside the layer",
               fmt::format("The step computes {} but keeps only its statistics. Choose X, Wup, "
                           "Wdown or dY to see single elements.",
                           model.operand_name()));
    return;
  }
  if (!model.quantized()) {
    draw_empty(context, area.size, "BF16 has no codes",
               "The recipe leaves the operands as they are. Choose an FP8 recipe in the rail.");
    return;
  }
  const auto [rows, columns] = size_of_operand(model);
  if (chosen_ && (row_ >= rows || column_ >= columns)) {
    draw_empty(
        context, area.size, "Not in this run",
        fmt::format("{}[{}, {}] was chosen; here {} has {} rows of {} elements. Click a "
                    "block of the map to choose another.",
                    model.operand_name(), row_, column_, model.operand_name(), rows, columns));
    return;
  }
  if (view.comparing) {
    draw_empty(context, area.size, "Fetching elements",
               "The worker quantizes the operand once more and sends 32 x 32 elements.");
    return;
  }
  if (view.from_file) {
    const bool compared = std::ranges::any_of(view.comparisons, has_recipe_elements);
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
    go_to(context, model, {});
  }
}

}  // namespace app
