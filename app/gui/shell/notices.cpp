// Strips are as high as their wrapped text, so that a long reason is never cut.
#include "app/gui/shell/notices.h"

#include <algorithm>
#include <utility>

#include "app/gui/controls/widgets.h"
#include "app/gui/theme/text.h"
#include "engine/model/text.h"

namespace app {
namespace {

constexpr std::size_t kMaxNotices = 3;

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

}  // namespace

Banner::Banner(const PanelContext& context, const char* id, ImU32 color, const std::string& words,
               float buttons_width) {
  // A banner must leave room for what it is about.
  const std::string text = engine::shown_text(words, 1000);
  const Theme& theme = context.theme;
  // Ends where the panels below it end.
  const float width = ImGui::GetContentRegionAvail().x - theme.px(kGap);
  const float padding = theme.px(kGap);
  const float beside = width - buttons_width - theme.px(4) - 3 * padding;
  // Large text leaves no room beside the buttons: they go below it.
  const bool below = beside < theme.px(120);
  const float wrap = below ? width - theme.px(4) - 2 * padding : beside;
  const float text_height = shown_size(text, wrap).y;
  const float row = theme.px(kRowHeight);
  const float gap = theme.px(kGapSmall);
  const float height = (below ? text_height + gap + row : std::max(text_height, row)) + 2 * gap;
  ImGui::PushStyleColor(ImGuiCol_ChildBg, theme.colors.raised);
  ImGui::BeginChild(id, {width, height}, false, ImGuiWindowFlags_NoScrollbar);
  ImGui::PopStyleColor();
  const ImVec2 at = ImGui::GetWindowPos();
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + theme.px(4), at.y + height}, color,
                                            theme.px(2));
  ImGui::SetCursorPos({theme.px(4) + padding, below ? gap : (height - text_height) / 2});
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + wrap);
  show_text(text);
  ImGui::PopTextWrapPos();
  const ImVec2 low = ImGui::GetItemRectMin();
  controls::record(context, id, "notice", "text", text, low, ImGui::GetItemRectMax());
  ImGui::SetCursorPos({std::max(theme.px(4) + padding, width - buttons_width - padding),
                       below ? height - row - gap : (height - row) / 2});
}

Banner::~Banner() { ImGui::EndChild(); }

void Notices::add(Severity severity, std::string text) {
  std::erase_if(notices_, [&](const Notice& one) { return one.text == text; });
  notices_.push_back({severity, std::move(text)});
  if (notices_.size() > kMaxNotices) notices_.erase(notices_.begin());
}

void Notices::draw(const PanelContext& context) {
  std::size_t closed = notices_.size();
  for (std::size_t i = 0; i < notices_.size(); ++i) {
    const std::string id = "notice." + std::to_string(i);
    const float button_width = context.theme.px(64);
    const Banner banner(context, id.c_str(),
                        severity_color(context.theme.colors, notices_[i].severity),
                        notices_[i].text, button_width);
    if (controls::button(context, (id + ".close").c_str(), "Dismiss", {.width = button_width})) {
      closed = i;
    }
  }
  if (closed < notices_.size()) notices_.erase(notices_.begin() + static_cast<long>(closed));
}

}  // namespace app
