// Notices: the list behind the button at the end of the status bar. It covers nothing until it is
// opened.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/bars.h"
#include "app/gui/theme/text.h"
#include "engine/model/text.h"

namespace app {
namespace {

constexpr float kListWidth = 520;
constexpr float kDismissWidth = 64;

/// True when it is dismissed.
bool draw_notice(const PanelContext& context, const Notices::Notice& notice, std::size_t index) {
  const Theme& theme = context.theme;
  const std::string id = fmt::format("notice.{}", index);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float wrap = theme.px(kListWidth - kDismissWidth - 2 * kGap);
  // The list must fit the window.
  const std::string text = engine::shown_text(notice.text, 1000);
  const float height = std::max(shown_size(text, wrap).y, theme.px(kRowHeight));
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + theme.px(4), at.y + height},
                                            severity_color(theme.colors, notice.severity),
                                            theme.px(2));
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + theme.px(kGap));
  ImGui::BeginGroup();
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + wrap);
  show_text(text);
  ImGui::PopTextWrapPos();
  ImGui::EndGroup();
  controls::record(context, id.c_str(), "notice", "text", notice.text, at,
                   {at.x + wrap, at.y + height});
  ImGui::SameLine();
  ImGui::SetCursorPosX(theme.px(kListWidth - kDismissWidth + kGap));
  return controls::button(context, (id + ".close").c_str(), "Dismiss",
                          {.width = theme.px(kDismissWidth)});
}

/// For whoever reads the window's controls: a closed list is part of them, out of sight.
void record_closed(const PanelContext& context, const Notices& notices) {
  for (std::size_t i = 0; i < notices.all().size(); ++i) {
    context.controls.add({.id = fmt::format("notice.{}", i),
                          .label = "notice",
                          .kind = "text",
                          .value = notices.all()[i].text,
                          .min = ImGui::GetItemRectMin(),
                          .max = ImGui::GetItemRectMax(),
                          .enabled = true,
                          .reason = {},
                          .visible = false});
  }
}

}  // namespace

ImU32 severity_color(const Palette& colors, Severity severity) {
  switch (severity) {
    case Severity::Good:
      return colors.good;
    case Severity::Warn:
      return colors.warn;
    case Severity::Bad:
      break;
  }
  return colors.bad;
}

void draw_notice_list(const PanelContext& context, Notices& notices, float width) {
  const Theme& theme = context.theme;
  const std::size_t count = notices.all().size();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (count > 0) {
    const bool errors = notices.errors() > 0;
    const TextColorScope color(errors ? theme.colors.bad : theme.colors.dim_text);
    const std::string label = errors ? fmt::format("{} !", count) : fmt::format("{}", count);
    if (controls::button(
            context, "status.notices", label.c_str(),
            {.tooltip = "Notices; errors stay until they are dismissed", .width = width})) {
      ImGui::OpenPopup("##notices");
    }
  } else {
    ImGui::Dummy({width, theme.px(kRowHeight)});
  }
  // Above the bar, at the right edge.
  ImGui::SetNextWindowPos({at.x + width, at.y - theme.px(kGap)}, ImGuiCond_Always, {1, 1});
  const PopupScope popup("##notices", theme.px(kPanelPadding));
  if (!popup) return record_closed(context, notices);
  const FontScope font(theme.fonts.body);
  if (count == 0 || ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape))) {
    ImGui::CloseCurrentPopup();
  }
  std::optional<std::size_t> dismissed;
  for (std::size_t i = count; i-- > 0;) {
    if (draw_notice(context, notices.all()[i], i)) dismissed = i;
  }
  if (count > 1 && controls::button(context, "status.dismiss_all", "Dismiss all")) {
    return notices.clear();
  }
  if (dismissed) notices.dismiss(*dismissed);
}

}  // namespace app
