// Text in plots: the theme's label font at exact positions, cut with an ellipsis if it does not
// fit.
#pragma once

#include <imgui.h>

#include <string_view>
#include <vector>

#include "app/gui/controls/panel_context.h"
#include "app/gui/theme/theme.h"

#include "app/gui/theme/text.h"

namespace app::plot {

ImVec2 text_size(const ImFont* font, std::string_view text);
void draw_text(ImDrawList* draw, const ImFont* font, ImVec2 at, ImU32 color, std::string_view text);
/// `at` is the right end of the text.
void draw_text_right(ImDrawList* draw, const ImFont* font, ImVec2 at, ImU32 color,
                     std::string_view text);
void draw_text_centered(ImDrawList* draw, const ImFont* font, ImVec2 at, ImU32 color,
                        std::string_view text);
using app::fitted;

/// Over a text that is shown cut in this rectangle: its whole in the tooltip.
void explain_cut(const PanelContext& context, std::string_view shown, std::string_view whole,
                 ImVec2 min, ImVec2 max);
/// As much of a line as fits `width`; where something is cut, the tooltip has the whole. Not inside
/// a kept drawing.
void draw_fitted(const PanelContext& context, const ImFont* font, ImVec2 at, ImU32 color,
                 std::string_view text, float width);

/// The same colour with its alpha multiplied.
ImU32 faded(ImU32 color, float alpha);
/// A small square before text of this font at `at`: the colour of what the text names. Returns
/// where the text starts.
ImVec2 draw_chip(ImDrawList* draw, const Theme& theme, const ImFont* font, ImVec2 at, ImU32 color);

struct LegendEntry {
  std::string name;
  ImU32 color = 0;
};
struct LegendSpec {
  const char* id = "";
  ImVec2 right{};     // upper end of its first line
  float left = 0.0F;  // where a line may start
  float gap = 0.0F;   // between entries
};
/// In as many lines as the names need. Returns the height of those below the first one, by which
/// what is drawn under the legend moves down. A name that is wider than a line is cut.
float draw_legend(const PanelContext& context, const LegendSpec& spec,
                  const std::vector<LegendEntry>& entries);

/// Diagonal lines over a rectangle: missing data, never a colour of a scale.
void draw_hatch(ImDrawList* draw, ImVec2 min, ImVec2 max, ImU32 color, float step);

}  // namespace app::plot
