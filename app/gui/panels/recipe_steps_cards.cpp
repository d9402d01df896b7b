// The cards of recipes over steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/cards/card.h"
#include "app/gui/panels/recipe_steps_view.h"
#include "app/gui/plot/marks.h"
#include "app/gui/plot/plot_text.h"
#include "engine/model/snr_words.h"

namespace app {
namespace {

const char* const kMethod =
    "Computed by the CPU twins of quantize and of the delayed-scaling update on any worker: step s "
    "takes "
    "X with seed + s, quantizes it with the scale from earlier steps, and writes its amax "
    "to row 0 of the history. An expert without rows leaves history and scale unchanged.";

/// Range of both series in log2, plus one octave of margin.
plot::Range range_of(std::vector<double> first, const std::vector<double>& second) {
  first.insert(first.end(), second.begin(), second.end());
  const plot::Range range = plot::value_range(first);
  return {std::floor(range.min) - 1.0, std::ceil(range.max) + 1.0};
}

plot::Line line_of(const std::vector<double>& values, ImU32 color, float width) {
  plot::Line line{.color = color, .width = width, .dots = 1.0F + width};
  for (std::size_t step = 0; step < values.size(); ++step) {
    line.points.push_back({static_cast<double>(step), values[step]});
  }
  return line;
}

}  // namespace

void RecipeStepsView::draw_scrubbed(const PanelContext& context, const Area& area,
                                    const Steps& steps) {
  const Theme& theme = context.theme;
  const std::vector<double> first = model_.log2_of(steps.first, expert_);
  const std::vector<double> second = model_.log2_of(steps.second, expert_);
  ImGui::SetCursorScreenPos(area.at);
  const plot::FrameSpec spec{
      .id = steps.plot_id,
      .size = area.size,
      .x = {.kind = plot::AxisKind::Integer,
            .label = "step",
            .limits = {-0.5, static_cast<double>(model_.steps()) - 0.5}},
      .y = {.kind = plot::AxisKind::Log2, .label = steps.axis, .limits = range_of(first, second)},
      .selectable = false,
      .min_span = 4.0};
  plot::PlotFrame frame(context, spec, view_);
  plot::Spans empty{.color = theme.colors.line, .kind = plot::Spans::Kind::Hatched};
  plot::Spans saturated{.color = plot::faded(theme.colors.bad, 0.30F)};
  for (int step = 0; step < model_.steps(); ++step) {
    const engine::ExpertQuantization& point = model_.at(step, expert_);
    const plot::Range around{step - 0.5, step + 0.5};
    if (point.rows == 0) empty.ranges.push_back(around);
    if (point.saturated > 0) saturated.ranges.push_back(around);
  }
  plot::draw_marks(
      context, frame,
      {std::move(empty), std::move(saturated), line_of(second, theme.colors.dim_text, 1.0F),
       line_of(first, theme.colors.accent, 1.5F),
       plot::Rule{.at = static_cast<double>(step_),
                  .color = theme.colors.text,
                  .upright = true,
                  .width = theme.px(1.5F)}});
  if (frame.hovered() && ImGui::IsMouseDown(ImGuiMouseButton_Left) && !ImGui::GetIO().KeyShift) {
    step_ = std::clamp(static_cast<int>(std::lround(frame.hover_x())), 0,
                       std::max(model_.steps() - 1, 0));
    playing_ = false;
  }
}

CardSpec RecipeStepsView::steps_card(const PanelContext& context, const Steps& steps) {
  return {
      .id = steps.id,
      .title = steps.title,
      .question = steps.question,
      .note = fmt::format("expert {}: {}", expert_, steps.note),
      .measured = kMethod,
      .list = [this] { return model_.table(); },
      .draw = [this, &context, steps](const Area& room) { draw_scrubbed(context, room, steps); },
      .read_out = {steps.control, steps.label, [this] {
                     return fmt::format("step={};expert={};steps={}", step_, expert_,
                                        model_.steps());
                   }}};
}

std::vector<RecipeStepsView::PointLine> RecipeStepsView::point_lines() const {
  const engine::ExpertQuantization& p = model_.at(step_, expert_);
  const engine::DelayedScale& delayed = *p.delayed;
  const bool any = p.rows > 0;
  const auto number = [](float value) {
    return std::isfinite(value) ? fmt::format("{:.5g}", value) : std::string("none");
  };
  const auto snr = [](const engine::ExpertQuantization& one) {
    return one.rows > 0 ? engine::snr_text(one.snr_db, one.left_out(), plot::kSnrDecimals)
                        : std::string("none");
  };
  const float too_large = delayed.scale_used / delayed.scale_wanted;
  std::vector<PointLine> lines = {
      {"rows", any ? plot::count_text(static_cast<std::uint64_t>(p.rows)) : "none: unchanged",
       false},
      {"amax of the step", any ? number(delayed.amax) : "none", false},
      {"amax from history", delayed.history_amax > 0.0F ? number(delayed.history_amax) : "none",
       false},
      {"scale used", number(delayed.scale_used), false},
      {"scale wanted", number(delayed.scale_wanted), false},
      {"used / wanted", number(too_large), too_large > 1.0F},
      {"saturated", plot::count_text(p.saturated), p.saturated > 0},
      {"underflowed", plot::count_text(p.underflowed), false},
      {"SNR", snr(p), false},
  };
  for (const RecipeStepsModel::Other& other : model_.others(step_, expert_)) {
    lines.push_back({"SNR, " + other.recipe, snr(*other.quantization), false});
  }
  return lines;
}

CardSpec RecipeStepsView::point_card(const PanelContext& context) {
  return {.id = "steps.point_card",
          .title = "Step",
          .question = "All values at the selected step; drag over a plot, or use the arrow keys.",
          .note = fmt::format("step {}, expert {}", step_, expert_),
          .measured = kMethod,
          .list = [this] { return model_.table(); },
          .draw = [this, &context](const Area& room) { draw_point(context, room); },
          .read_out = {.id = "steps.point",
                       .label = "figures of the step",
                       .value =
                           [this] {
                             std::string all = fmt::format("step={};expert={}", step_, expert_);
                             for (const PointLine& line : point_lines()) {
                               all += fmt::format(";{}={}", line.label, line.value);
                             }
                             return all;
                           },
                       .kind = "text"}};
}

void RecipeStepsView::draw_point(const PanelContext& context, const Area& room) const {
  const Theme& theme = context.theme;
  const ImFont* font = theme.fonts.label;
  const std::vector<PointLine> lines = point_lines();
  const float height = std::min(font->FontSize + theme.px(4),
                                std::max(room.size.y / static_cast<float>(lines.size()), 1.0F));
  ImDrawList* draw = ImGui::GetWindowDrawList();
  ImVec2 at = room.at;
  for (const PointLine& line : lines) {
    if (at.y + font->FontSize > room.end().y) return;
    plot::draw_text(draw, font, at, theme.colors.dim_text, line.label);
    plot::draw_text(draw, theme.fonts.mono,
                    ImVec2(at.x + std::min(theme.px(130), 0.5F * room.size.x), at.y),
                    line.bad ? theme.colors.bad : theme.colors.text, line.value);
    at.y += height;
  }
}

CardSpec RecipeStepsView::history_card(const PanelContext& context) {
  const std::vector<double> history = model_.history(step_, expert_);
  return {
      .id = "steps.history_card",
      .title = "Amax history",
      .question =
          "What does the history hold after this step? Row 0 holds the amax "
          "of this step; the last row is the newest of the earlier steps.",
      .note = fmt::format("row 0 and the last {} of {} rows",
                          std::max<std::size_t>(history.size(), 1) - 1,
                          model_.recipe().delayed.history_length),
      .measured = kMethod,
      .list = [this] { return model_.history_table(step_, expert_); },
      .draw = [this, &context, history](const Area& room) { draw_history(context, room, history); },
      .read_out = {"steps.history", "rows of the history", [history] {
                     const auto filled =
                         std::ranges::count_if(history, [](double amax) { return amax > 0.0; });
                     return fmt::format("rows={};filled={}", history.size(), filled);
                   }}};
}

void RecipeStepsView::draw_history(const PanelContext& context, const Area& room,
                                   const std::vector<double>& history) const {
  const Theme& theme = context.theme;
  const int length = model_.recipe().delayed.history_length;
  // An empty row has no height.
  std::vector<double> heights;
  for (const double amax : history) heights.push_back(amax > 0.0 ? std::log2(amax) : INFINITY);
  const plot::Range range = plot::value_range(heights);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const float label = theme.fonts.label->FontSize + theme.px(2);
  const float floor_y = room.at.y + room.size.y - label;
  const float cell = room.size.x / static_cast<float>(std::max<std::size_t>(history.size(), 1));
  const float air = cell > theme.px(6) ? theme.px(2) : 0.0F;
  for (std::size_t row = 0; row < history.size(); ++row) {
    const float left = room.at.x + cell * static_cast<float>(row);
    const ImVec2 min(left, room.at.y);
    const ImVec2 max(left + cell - air, floor_y);
    if (std::isfinite(heights[row])) {
      const double part = range.empty() ? 1.0 : (heights[row] - range.min) / range.span();
      const float top = floor_y - (floor_y - room.at.y) * static_cast<float>(0.08 + 0.92 * part);
      draw->AddRectFilled(ImVec2(min.x, top), max,
                          row == 0 ? theme.colors.accent : theme.stage(engine::Stage::Amax));
    } else {
      plot::draw_hatch(draw, min, max, theme.colors.line, theme.px(4));
    }
    if (ImGui::IsMouseHoveringRect(min, max) && ImGui::IsWindowHovered()) {
      const std::size_t number =
          row == 0 ? 0 : static_cast<std::size_t>(length) - history.size() + row;
      plot::read_out(
          context, fmt::format("row {}", number),
          {{"amax", history[row] > 0.0 ? fmt::format("{:.6g}", history[row]) : "empty"}});
    }
  }
  plot::draw_text(draw, theme.fonts.label, ImVec2(room.at.x, floor_y + theme.px(1)),
                  theme.colors.dim_text, "row 0");
  plot::draw_text_right(draw, theme.fonts.label,
                        ImVec2(room.at.x + room.size.x, floor_y + theme.px(1)),
                        theme.colors.dim_text, fmt::format("row {}", length - 1));
}

CardSpec RecipeStepsView::experts_card(const PanelContext& context) {
  return {.id = "steps.experts_card",
          .title = "Experts",
          .question = "Which expert suffers when? A click chooses step and expert.",
          .note = "SNR of X in dB",
          .measured = kMethod,
          .list = [this] { return model_.table(); },
          .draw = [this, &context](const Area& room) { draw_experts(context, room.size); },
          .read_out = {"steps.experts", "SNR of all experts", [this] {
                         return fmt::format("experts={};steps={}", model_.snr().rows,
                                            model_.snr().columns);
                       }}};
}

void RecipeStepsView::draw_experts(const PanelContext& context, ImVec2 size) {
  plot::Range colors = plot::value_range(model_.snr().values);
  if (colors.empty()) colors = plot::padded(colors, 0.0);
  const plot::HeatmapHover hover = plot::draw_heatmap(
      context,
      {.id = "##steps.experts",
       .size = size,
       .x_label = "step",
       .y_label = "expert",
       .colors = colors,
       .legend = "SNR, dB",
       .legend_ends = {fmt::format("{:.1f}", colors.min), fmt::format("{:.1f}", colors.max)}},
      model_.snr(), model_.generation(), experts_state_);
  if (hover.inside) {
    const engine::ExpertQuantization& p = model_.at(hover.column, hover.row);
    plot::read_out(
        context, fmt::format("step {}, expert {}", hover.column, hover.row),
        {{"SNR",
          p.rows > 0 ? engine::snr_text(p.snr_db, p.left_out(), plot::kSnrDecimals) : "no rows"},
         {"saturated", plot::count_text(p.saturated)},
         {"underflowed", plot::count_text(p.underflowed)}});
  }
  if (hover.clicked) {
    step_ = hover.column;
    expert_ = hover.row;
    playing_ = false;
  }
}

}  // namespace app
