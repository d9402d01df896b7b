// Lines over the steps, the ring, and the grid of experts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/history_view.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

const char* const kMethod =
    "The CPU twins of quantize and of the delayed-scaling update, in every worker: step s takes "
    "X "
    "with seed + s, casts it with the scale left by earlier steps, and puts its own amax "
    "into "
    "row 0 of the history. An expert without tokens leaves history and scale as they are.";

/// Range of both series in log2, plus one octave of margin.
plot::Range range_of(const std::vector<double>& first, const std::vector<double>& second) {
  double low = INFINITY;
  double high = -INFINITY;
  for (const std::vector<double>* series : {&first, &second}) {
    for (const double value : *series) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) return {-1.0, 1.0};
  return {std::floor(low) - 1.0, std::ceil(high) + 1.0};
}

void draw_steps(const plot::PlotFrame& frame, const std::vector<double>& values, ImU32 color,
                float width) {
  ImDrawList* draw = frame.draw();
  ImVec2 last;
  bool open = false;
  for (std::size_t step = 0; step < values.size(); ++step) {
    if (!std::isfinite(values[step])) {
      open = false;
      continue;
    }
    const ImVec2 at(frame.x().to_pixel(static_cast<double>(step)),
                    frame.y().to_pixel(values[step]));
    if (open) draw->AddLine(last, at, color, width);
    draw->AddCircleFilled(at, 1.0F + width, color);
    last = at;
    open = true;
  }
}

std::string ring_list(const std::vector<double>& ring, char separator) {
  std::string text = fmt::format("row{}amax\n", separator);
  for (std::size_t row = 0; row < ring.size(); ++row) {
    text += fmt::format("{}{}{:.9g}\n", row, separator, ring[row]);
  }
  return text;
}

}  // namespace

void HistoryView::move_by_keys(const PanelContext& context) {
  if (context.keys.pan == 0) return;
  step_ = std::clamp(step_ + context.keys.pan, 0, std::max(model_.history()->steps - 1, 0));
  playing_ = false;
}

void HistoryView::draw_scrubbed(const PanelContext& context, const Area& area, const Lines& lines) {
  const Theme& theme = context.theme;
  const engine::AmaxHistory& history = *model_.history();
  ImGui::SetCursorScreenPos(area.at);
  const plot::FrameSpec spec{.id = lines.id,
                             .size = area.size,
                             .x = {.kind = plot::AxisKind::Integer,
                                   .label = "step",
                                   .limits = {-0.5, static_cast<double>(history.steps) - 0.5}},
                             .y = {.kind = plot::AxisKind::Log2,
                                   .label = lines.axis,
                                   .limits = range_of(lines.first, lines.second)},
                             .selectable = false,
                             .min_span = 4.0};
  plot::PlotFrame frame(context, spec, view_);
  ImDrawList* draw = frame.draw();
  for (int step = 0; step < history.steps; ++step) {
    const HistoryPoint point = model_.at(step, expert_);
    const float left = frame.x().to_pixel(step - 0.5);
    const float right = frame.x().to_pixel(step + 0.5);
    const ImVec2 low(left, frame.min().y);
    const ImVec2 high(right, frame.max().y);
    if (point.rows == 0) plot::draw_hatch(draw, low, high, theme.colors.line, theme.px(6));
    if (point.saturated > 0) draw->AddRectFilled(low, high, plot::faded(theme.colors.bad, 0.30F));
  }
  draw_steps(frame, lines.second, theme.colors.dim_text, 1.0F);
  draw_steps(frame, lines.first, theme.colors.accent, 1.5F);
  const float x = frame.x().to_pixel(step_);
  draw->AddLine(ImVec2(x, frame.min().y), ImVec2(x, frame.max().y), theme.colors.text,
                theme.px(1.5F));
  if (frame.hovered() && ImGui::IsMouseDown(ImGuiMouseButton_Left) && !ImGui::GetIO().KeyShift) {
    step_ = std::clamp(static_cast<int>(std::lround(frame.hover_x())), 0,
                       std::max(history.steps - 1, 0));
    playing_ = false;
  }
}

void HistoryView::draw_amax(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  Card card(context,
            {.id = "history.amax_card",
             .title = "Amax",
             .question = "What was the amax, and which amax was the scale based on?",
             .note = fmt::format("expert {}: of the step (blue), from history (grey)", expert_),
             .measured = kMethod,
             .text = [this] { return model_.list('\t'); },
             .csv = [this] { return model_.list(','); }},
            area.size);
  const Area room{ImGui::GetCursorScreenPos(), card.room()};
  draw_scrubbed(context, room,
                {.id = "##history.amax",
                 .axis = "amax",
                 .first = model_.log2_amax(expert_),
                 .second = model_.log2_history(expert_)});
  controls::record(
      context, "history.amax", "amax over the steps", "plot",
      fmt::format("step={};expert={};steps={}", step_, expert_, model_.history()->steps), room.at,
      room.end());
}

void HistoryView::draw_scale(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  Card card(context,
            {.id = "history.scale_card",
             .title = "Scale",
             .question = "Where is the stale scale too large (red: it saturates) or too small?",
             .note = fmt::format("expert {}: used (blue), wanted (grey); red saturates, hatched "
                                 "has no tokens",
                                 expert_),
             .measured = kMethod,
             .text = [this] { return model_.list('\t'); },
             .csv = [this] { return model_.list(','); }},
            area.size);
  const Area room{ImGui::GetCursorScreenPos(), card.room()};
  draw_scrubbed(context, room,
                {.id = "##history.scale",
                 .axis = "scale",
                 .first = model_.log2_used(expert_),
                 .second = model_.log2_wanted(expert_)});
  controls::record(context, "history.scale", "scale over the steps", "plot",
                   fmt::format("step={};expert={}", step_, expert_), room.at, room.end());
}

void HistoryView::draw_point(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const Theme& theme = context.theme;
  const HistoryPoint p = model_.at(step_, expert_);
  Card card(context,
            {.id = "history.point_card",
             .title = "Step",
             .question = "Everything at the scrubber; drag over a plot, or use the arrow keys.",
             .note = fmt::format("step {}, expert {}", step_, expert_),
             .measured = kMethod,
             .text = [this] { return model_.list('\t'); },
             .csv = [this] { return model_.list(','); }},
            area.size);
  const bool tokens = p.rows > 0;
  const auto scale = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.5g}", value) : std::string("none");
  };
  const double too_large = p.scale_used / p.scale_wanted;
  struct Line {
    const char* label;
    std::string value;
    bool bad;
  };
  const Line lines[] = {
      {"tokens", tokens ? plot::count_text(static_cast<std::uint64_t>(p.rows)) : "none: unchanged",
       false},
      {"amax of the step", tokens ? fmt::format("{:.5g}", p.amax) : "none", false},
      {"amax from history", p.history_amax > 0.0 ? fmt::format("{:.5g}", p.history_amax) : "none",
       false},
      {"scale used", scale(p.scale_used), false},
      {"scale wanted", scale(p.scale_wanted), false},
      {"used / wanted", std::isfinite(too_large) ? fmt::format("{:.4g}", too_large) : "none",
       too_large > 1.0},
      {"saturated", plot::count_text(p.saturated), p.saturated > 0},
      {"underflowed", plot::count_text(p.underflowed), false},
      {"SNR", tokens ? plot::decibel_text(p.snr_db) + " dB" : "none", false},
  };
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = card.room();
  const ImFont* font = theme.fonts.label;
  const float line = std::min(font->FontSize + theme.px(4),
                              std::max(room.y / static_cast<float>(std::size(lines)), 1.0F));
  std::string all = fmt::format("step={};expert={}", step_, expert_);
  float y = at.y;
  for (const Line& one : lines) {
    all += fmt::format(";{}={}", one.label, one.value);
    if (y + font->FontSize > at.y + room.y) continue;
    plot::draw_text(ImGui::GetWindowDrawList(), font, ImVec2(at.x, y), theme.colors.dim_text,
                    one.label);
    plot::draw_text(ImGui::GetWindowDrawList(), theme.fonts.mono,
                    ImVec2(at.x + std::min(theme.px(130), 0.5F * room.x), y),
                    one.bad ? theme.colors.bad : theme.colors.text, one.value);
    y += line;
  }
  controls::record(context, "history.point", "figures of the step", "text", all, at,
                   ImVec2(at.x + room.x, at.y + room.y));
}

void HistoryView::draw_ring(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const Theme& theme = context.theme;
  const std::vector<double> ring = model_.ring(step_, expert_);
  const int length = model_.history()->request.request.recipe.delayed.history_length;
  Card card(context,
            {.id = "history.ring_card",
             .title = "Ring",
             .question = "What does the history hold after this step? Row 0 is where the step puts "
                         "its own amax; the last row is the newest of earlier steps.",
             .note = fmt::format("row 0 and the last {} of {} rows",
                                 std::max<std::size_t>(ring.size(), 1) - 1, length),
             .measured = kMethod,
             .text = [&ring] { return ring_list(ring, '\t'); },
             .csv = [&ring] { return ring_list(ring, ','); }},
            area.size);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = card.room();
  double low = INFINITY;
  double high = -INFINITY;
  for (const double amax : ring) {
    if (!(amax > 0.0) || !std::isfinite(amax)) continue;
    low = std::min(low, std::log2(amax));
    high = std::max(high, std::log2(amax));
  }
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const float label = theme.fonts.label->FontSize + theme.px(2);
  const float floor_y = at.y + room.y - label;
  const float cell = room.x / static_cast<float>(std::max<std::size_t>(ring.size(), 1));
  const float air = cell > theme.px(6) ? theme.px(2) : 0.0F;
  for (std::size_t row = 0; row < ring.size(); ++row) {
    const float left = at.x + cell * static_cast<float>(row);
    const ImVec2 min(left, at.y);
    const ImVec2 max(left + cell - air, floor_y);
    const double amax = ring[row];
    if (amax > 0.0 && std::isfinite(amax)) {
      const double part = high > low ? (std::log2(amax) - low) / (high - low) : 1.0;
      const float top = floor_y - (floor_y - at.y) * static_cast<float>(0.08 + 0.92 * part);
      draw->AddRectFilled(ImVec2(min.x, top), max,
                          row == 0 ? theme.colors.accent : theme.stage(engine::Stage::Amax));
    } else {
      plot::draw_hatch(draw, min, max, theme.colors.line, theme.px(4));
    }
    if (ImGui::IsMouseHoveringRect(min, max) && ImGui::IsWindowHovered()) {
      const std::size_t number =
          row == 0 ? 0 : static_cast<std::size_t>(length) - ring.size() + row;
      plot::read_out(context, fmt::format("row {}", number),
                     {{"amax", amax > 0.0 ? fmt::format("{:.6g}", amax) : "empty", 0}});
    }
  }
  plot::draw_text(draw, theme.fonts.label, ImVec2(at.x, floor_y + theme.px(1)),
                  theme.colors.dim_text, "row 0");
  plot::draw_text_right(draw, theme.fonts.label, ImVec2(at.x + room.x, floor_y + theme.px(1)),
                        theme.colors.dim_text, fmt::format("row {}", length - 1));
  const auto filled = std::ranges::count_if(ring, [](double amax) { return amax > 0.0; });
  controls::record(context, "history.ring", "rows of the history", "plot",
                   fmt::format("rows={};filled={}", ring.size(), filled), at,
                   ImVec2(at.x + room.x, at.y + room.y));
}

void HistoryView::draw_experts(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  Card card(context,
            {.id = "history.experts_card",
             .title = "Experts",
             .question = "Which expert suffers when? A click chooses step and expert.",
             .note = "SNR of X in dB",
             .measured = kMethod,
             .text = [this] { return model_.list('\t'); },
             .csv = [this] { return model_.list(','); }},
            area.size);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = card.room();
  plot::Range colors = plot::value_range(model_.snr().values);
  if (colors.empty()) colors = plot::padded(colors, 0.0);
  const plot::HeatmapHover hover = plot::draw_heatmap(
      context,
      {.id = "##history.experts",
       .size = room,
       .x_label = "step",
       .y_label = "expert",
       .colors = colors,
       .legend = "SNR, dB",
       .legend_ends = {fmt::format("{:.1f}", colors.min), fmt::format("{:.1f}", colors.max)}},
      model_.snr(), model_.generation(), experts_state_);
  if (hover.inside) {
    const HistoryPoint p = model_.at(hover.column, hover.row);
    plot::read_out(context, fmt::format("step {}, expert {}", hover.column, hover.row),
                   {{"SNR", p.rows > 0 ? plot::decibel_text(p.snr_db) : "no tokens", 0},
                    {"saturated", plot::count_text(p.saturated), 0},
                    {"underflowed", plot::count_text(p.underflowed), 0}});
  }
  if (hover.clicked) {
    step_ = hover.column;
    expert_ = hover.row;
    playing_ = false;
  }
  controls::record(context, "history.experts", "SNR of all experts", "plot",
                   fmt::format("experts={};steps={}", model_.snr().rows, model_.snr().columns), at,
                   ImVec2(at.x + room.x, at.y + room.y));
}

}  // namespace app
