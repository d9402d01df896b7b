// Keys and mouse on one page, from the table that also handles the keyboard.
#include <algorithm>

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
  for (const HelpSection& section : help_sections()) {
    draw_title(context, section.title);
    for (const HelpRow& row : section.rows) draw_row(context, row.keys, row.meaning);
  }
  return closed;
}

}  // namespace app
