// The one question that a window asks before it closes: results that are in no file.
#include <fmt/format.h>

#include <algorithm>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/bars.h"
#include "app/gui/theme/text.h"

namespace app {

CloseAnswer draw_close_question(const PanelContext& context, const CloseQuestion& question) {
  const Theme& theme = context.theme;
  const bool one = question.unsaved == 1;
  const std::string title = question.saving
                                ? "Saving ..."
                                : fmt::format("{} result{} of this window {} not saved",
                                              question.unsaved, one ? "" : "s", one ? "is" : "are");
  const std::string where = (question.saving ? "" : "Save writes to ") + question.path;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImGuiStyle& style = ImGui::GetStyle();
  const float width = std::min(theme.px(460), display.x - theme.px(32));
  const float wrap = width - 2 * style.WindowPadding.x;
  const float height = 2 * style.WindowPadding.y + theme.fonts.title->FontSize +
                       shown_size(where, wrap).y + theme.px(kRowHeight) + 2 * style.ItemSpacing.y +
                       theme.px(kGapLarge);
  const ImVec2 at = {(display.x - width) / 2, (display.y - height) / 3};
  ImGui::SetNextWindowFocus();
  const OverlayScope overlay("##close", at, {width, height}, theme.colors.panel);
  {
    const FontScope font(theme.fonts.title);
    show_text(title);
  }
  controls::record(context, "close", "Before the window is closed", "text",
                   fmt::format("unsaved={};saving={}", question.unsaved, question.saving), at,
                   {at.x + width, at.y + height});
  show_wrapped(where);
  controls::record(context, "close.path", question.path.c_str(), "text", question.path,
                   ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  if (question.saving) return CloseAnswer::None;
  ImGui::Dummy({0, theme.px(kGap)});
  const float gap = theme.px(kGap);
  const float button = (wrap - 2 * gap) / 3;
  CloseAnswer answer = CloseAnswer::None;
  if (controls::button(context, "close.save", "Save and close",
                       {.tooltip = "Enter", .width = button}) ||
      ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Enter))) {
    answer = CloseAnswer::Save;
  }
  ImGui::SameLine(0, gap);
  if (controls::button(context, "close.discard", "Discard",
                       {.tooltip = "Close; the results are lost", .width = button})) {
    answer = CloseAnswer::Discard;
  }
  ImGui::SameLine(0, gap);
  if (controls::button(context, "close.stay", "Cancel", {.tooltip = "Esc", .width = button})) {
    answer = CloseAnswer::Stay;
  }
  return answer;
}

}  // namespace app
