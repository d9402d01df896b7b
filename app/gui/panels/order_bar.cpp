#include "app/gui/panels/order_bar.h"

#include <fmt/format.h>

#include "app/gui/controls/widgets.h"

namespace app {

bool can_order(const SessionView& view) {
  return !view.from_file && view.link.state != LinkState::Lost && view.hello;
}

std::string order_refusal(const SessionView& view, const engine::Status& valid) {
  if (!valid.ok()) return valid.error().message;
  return view.link.state == LinkState::Lost ? "There is no worker: " + view.link.reason : "";
}

bool draw_order_bar(const PanelContext& context, const OrderWords& words, const OrderState& state,
                    controls::Flow& flow, bool& live) {
  const Theme& theme = context.theme;
  const SessionView& view = context.view;
  const auto id = [&words](const char* part) { return std::string(words.name) + "." + part; };
  bool pressed = false;
  flow.next(theme.px(92));
  if (state.in_progress) {
    if (controls::button(context, id("cancel").c_str(), "Cancel", {.width = theme.px(92)})) {
      context.commands.push_back(Action::Cancel);
      live = false;
    }
  } else {
    const std::string why = order_refusal(view, state.valid);
    pressed = controls::button(
        context, id(words.verb).c_str(), words.label,
        {.enabled = why.empty(), .reason = why, .tooltip = words.tooltip, .width = theme.px(92)});
  }
  flow.next(theme.px(60));
  controls::checkbox(context, id("live").c_str(), "Live", live,
                     {.enabled = !view.from_file,
                      .reason = "A recording cannot be changed: go back to your runs first",
                      .tooltip = words.live_tooltip});
  return pressed;
}

bool draw_no_result(const PanelContext& context, const Area& area, bool in_progress,
                    const NoResult& words) {
  ImGui::SetCursorScreenPos(area.at);
  const SessionView& view = context.view;
  if (in_progress) {
    return draw_empty(context, area.size, words.in_progress_title, words.in_progress);
  }
  std::string sentence = words.sentence;
  if (view.from_file) sentence = words.recorded;
  if (!words.error.empty()) sentence = words.error;
  const bool lost = view.link.state == LinkState::Lost;
  if (lost) sentence += " There is no worker: start one first.";
  return draw_empty(context, area.size, words.title, sentence, words.button_id,
                    lost ? nullptr : words.button_label);
}

void draw_order_status(const PanelContext& context, const Area& area, const OrderStatus& status) {
  const Palette& colors = context.theme.colors;
  TextLine line{
      .id = status.id, .label = status.label, .text = status.shown, .color = colors.dim_text};
  if (!status.in_progress.empty()) {
    line.text = status.in_progress;
    line.color = colors.accent;
  } else if (!status.error.empty()) {
    line.text = status.error;
    line.color = colors.bad;
  } else if (status.stale != nullptr) {
    line.text =
        status.shown.empty() ? status.stale : fmt::format("{}   ({})", status.stale, status.shown);
    line.color = colors.warn;
  }
  draw_text_line(context, area, line);
}

Area control_row(const Theme& theme, const Area& area, float taken_left, float needed) {
  const float row = theme.px(kRowHeight);
  const float left = area.size.x - taken_left;
  if (left >= needed) return {ImVec2(area.at.x + taken_left, area.at.y), ImVec2(left, row)};
  return {area.below(row + theme.px(kGapSmall)).at, ImVec2(area.size.x, row)};
}

}  // namespace app
