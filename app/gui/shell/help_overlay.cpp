// Keys and mouse on one page, from the same table that the keyboard obeys.
#include <algorithm>

#include "app/gui/controls/widgets.h"
#include "app/gui/shell/bars.h"
#include "app/gui/shell/scopes.h"

namespace app {
namespace {

void draw_keys(const PanelContext& context, const char* title, const std::vector<KeyHelp>& keys) {
  const Theme& theme = context.theme;
  {
    const FontScope font(theme.fonts.title);
    ImGui::TextUnformatted(title);
  }
  for (const KeyHelp& key : keys) {
    {
      const FontScope font(theme.fonts.mono);
      const TextColorScope color(theme.colors.accent);
      ImGui::TextUnformatted(key.keys.data(), key.keys.data() + key.keys.size());
    }
    ImGui::SameLine(theme.px(310));
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(key.meaning.data(), key.meaning.data() + key.meaning.size());
    ImGui::PopTextWrapPos();
  }
  ImGui::Dummy({0, theme.px(kGap)});
}

}  // namespace

bool draw_help(const PanelContext& context) {
  const Theme& theme = context.theme;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImVec2 size = {std::min(theme.px(660), display.x - theme.px(32)),
                       std::min(theme.px(420), display.y - theme.px(32))};
  const ImVec2 at = {(display.x - size.x) / 2, (display.y - size.y) / 2};
  const OverlayScope overlay("##help", at, size, theme.colors.panel);
  draw_keys(context, "Window", window_keys());
  draw_keys(context, "Plots", plot_keys());
  controls::record(context, "help", "Keys and mouse", "text", "open", at,
                   {at.x + size.x, at.y + size.y});
  return controls::button(context, "help.close", "Close", {.width = theme.px(96)});
}

}  // namespace app
