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
  waiting_ = can_ask(context.view);
  if (waiting_) {
    return context.commands.push_back(InspectElements{inspection_order(model, region)});
  }
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
  const SessionView& view = context.view;
  const auto newest_of = [](const auto& comparisons) {
    return comparisons.empty() ? nullptr : comparisons.back();
  };
  // Not by their number, which stays the same once each new one replaces the oldest.
  const RecipesModel::Comparison newest = newest_of(view.comparisons);
  const RecipesModel::Comparison newest_live = newest_of(view.live_comparisons);
  if (generation_ == model.generation() && newest_ == newest && newest_live_ == newest_live) return;
  if (generation_ != model.generation() && !waiting_) keep_element();
  generation_ = model.generation();
  newest_ = newest;
  newest_live_ = newest_live;
  RecipesModel::Comparison found = found_in(view, model);
  const bool changed = found != shown_;
  shown_ = std::move(found);
  if (changed) show(context, model);
  if (chosen_ && !holds_element()) ask_again(context, model);
}

bool RunInspector::can_ask(const SessionView& view) {
  return !view.no_worker && view.link.state != LinkState::Lost;
}

RecipesModel::Comparison RunInspector::found_in(const SessionView& view,
                                                const NumericsModel& model) {
  RecipesModel::Comparison found;
  for (const auto* comparisons : {&view.comparisons, &view.live_comparisons}) {
    for (const RecipesModel::Comparison& one : *comparisons) {
      const engine::RecipeComparison& comparison = one->comparison;
      if (inspects(comparison.request, model) && !comparison.reports.empty() &&
          comparison.reports.front().sample.rows > 0) {
        found = one;
      }
    }
  }
  return found;
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
  view_.pick(
      static_cast<int>(std::clamp<std::int64_t>(row_ - sample.row, 0, sample.rows - 1)),
      static_cast<int>(std::clamp<std::int64_t>(column_ - sample.column, 0, sample.columns - 1)));
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
  const std::optional<OperandPlace> largest = largest_in(sample, std::exchange(searched_, {}));
  if (!largest) return;
  row_ = largest->row;
  column_ = largest->column;
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
                            .fixed = can_ask(context.view)
                                         ? ""
                                         : "Without a worker there are only the elements that were "
                                           "inspected before",
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

EmptyElements RunInspector::why_nothing(const SessionView& view, const NumericsModel& model) const {
  const std::string name = model.operand_name();
  if (!can_inspect(model)) {
    return {"Only inside the layer",
            fmt::format("The step computes {} but keeps only its statistics. Choose X, Wup, "
                        "Wdown or dY to see single elements.",
                        name)};
  }
  if (!model.quantized()) {
    return {"BF16 has no codes",
            view.from_file
                ? "The recipe of this run leaves the operands as they are. Choose a run with an "
                  "FP8 recipe in the list."
                : "The recipe leaves the operands as they are. Choose an FP8 recipe in the rail."};
  }
  const auto [rows, columns] = size_of_operand(model);
  if (chosen_ && (row_ >= rows || column_ >= columns)) {
    return {"Not in this run",
            fmt::format("{}[{}, {}] was chosen; here {} has {} rows of {} elements. Click a "
                        "block of the map to choose another.",
                        name, row_, column_, name, rows, columns)};
  }
  const std::string run =
      view.from_file ? fmt::format("run {} of the recording", view.run_index + 1 - view.live_runs)
                     : "this run";
  if (!can_ask(view)) {
    const std::string why =
        view.no_worker ? "this window was opened without one" : "there is none now: start one";
    std::string sentence = fmt::format("{} of {} can be made again by a worker, because {}; {}.",
                                       name, run, origin_of_values(model), why);
    const bool compared =
        view.from_file && std::ranges::any_of(view.comparisons, [&](const auto& one) {
          return compares_operand(one, model);
        });
    if (compared) sentence += " The recording has elements of it in its comparison of recipes.";
    return {"No elements of this run", std::move(sentence),
            compared ? EmptyElements::Recipes : EmptyElements::None};
  }
  if (view.comparing) {
    return {
        "Fetching elements",
        fmt::format("The worker makes {} of {} again, quantizes its experts around the element, "
                    "and sends 32 x 32 elements.",
                    name, run)};
  }
  // An error of another order says nothing about these.
  if (waiting_ && !view.comparison_error.empty()) {
    return {"No elements of this run",
            fmt::format("{} of {} cannot be made again here, though {}: {}", name, run,
                        origin_of_values(model), view.comparison_error),
            EmptyElements::Inspect};
  }
  return {"No elements yet",
          "Click a block of the map, or start at the first element." +
              (view.from_file ? fmt::format(" The worker here makes {} of {} again: {}.", name, run,
                                            origin_of_values(model))
                              : std::string()),
          EmptyElements::Inspect};
}

void RunInspector::draw_nothing(const PanelContext& context, const NumericsModel& model,
                                const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const EmptyElements empty = why_nothing(context.view, model);
  const bool recipes = empty.button == EmptyElements::Recipes;
  const char* const label = recipes                                  ? "Show the recipes"
                            : empty.button == EmptyElements::Inspect ? "Inspect"
                                                                     : nullptr;
  controls::record(context, "numerics.no_elements", empty.title, "text", empty.sentence, area.at,
                   area.end());
  if (!draw_empty(context, area.size, empty.title, empty.sentence,
                  recipes ? "numerics.recipe_elements" : "numerics.inspect", label)) {
    return;
  }
  if (!recipes) {
    const OperandRegion again = searched_.rows > 0 ? searched_ : OperandRegion{row_, column_};
    return go_to(context, model, chosen_ ? again : OperandRegion{});
  }
  for (const RecipesModel::Comparison& one : context.view.comparisons) {
    if (compares_operand(one, model)) wanted_recipes_ = WantedRecipes{one, row_, column_};
  }
}

}  // namespace app
