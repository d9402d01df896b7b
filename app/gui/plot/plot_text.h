// Text in plots: the theme's label font at exact positions, cut with an ellipsis if it does not
// fit.
#pragma once

#include <imgui.h>

#include <string_view>

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

/// The same colour with its alpha multiplied.
ImU32 faded(ImU32 color, float alpha);
/// Diagonal lines over a rectangle: missing data, never a colour of a scale.
void draw_hatch(ImDrawList* draw, ImVec2 min, ImVec2 max, ImU32 color, float step);

}  // namespace app::plot
