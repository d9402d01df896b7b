// Keys and mouse on one page, from the table that also handles the keyboard.
#include <algorithm>
#include <string_view>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/bars.h"
#include "app/gui/theme/text.h"

namespace app {
namespace {

void draw_row(const PanelContext& context, const char* keys, const char* meaning) {
  const Theme& theme = context.theme;
  {
    const FontScope font(theme.fonts.mono);
    const TextColorScope color(theme.colors.accent);
    show_text(keys);
  }
  ImGui::SameLine(theme.px(310));
  ImGui::PushTextWrapPos(0);
  show_text(meaning);
  ImGui::PopTextWrapPos();
}

void draw_title(const PanelContext& context, const char* title) {
  ImGui::Dummy({0, context.theme.px(kGapSmall)});
  const FontScope font(context.theme.fonts.title);
  show_text(title);
}

void draw_actions(const PanelContext& context) {
  for (const char* group : {"Run", "Edit", "File", "View", "Tour", "Help"}) {
    bool titled = false;
    for (const ActionRow& row : action_table()) {
      if (row.group != std::string_view(group) || row.keys[0] == '\0') continue;
      if (!titled) draw_title(context, group);
      titled = true;
      draw_row(context, row.keys, row.title);
    }
  }
}

}  // namespace

bool draw_help(const PanelContext& context) {
  const Theme& theme = context.theme;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImVec2 size = {std::min(theme.px(660), display.x - theme.px(32)),
                       std::min(theme.px(620), display.y - theme.px(32))};
  const ImVec2 at = {(display.x - size.x) / 2, (display.y - size.y) / 2};
  const OverlayScope overlay("##help", at, size, theme.colors.panel);
  {
    const FontScope font(theme.fonts.title);
    ImGui::AlignTextToFramePadding();
    show_text("Keys and mouse");
  }
  ImGui::SameLine(ImGui::GetWindowContentRegionMax().x - theme.px(96));
  const bool closed = controls::button(context, "help.close", "Close", {.width = theme.px(96)});
  controls::record(context, "help", "Keys and mouse", "text", "open", at,
                   {at.x + size.x, at.y + size.y});
  const ChildScope list("##keys", {0, 0}, theme.colors.panel, {0, 0});
  draw_title(context, "Plots, the one under the mouse");
  for (const PlotRow& row : plot_table()) draw_row(context, row.keys, row.meaning);
  draw_row(context, "Number fields",
           "drag to change, click to type (3*1024, 16k), arrows step, double click resets");
  draw_actions(context);
  return closed;
}

}  // namespace app
