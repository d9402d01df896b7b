// Bars with names, one below the other: each a row of segments from the left, with a text behind
// it, and lines across all of them for what they are compared with.
#pragma once

#include <string>
#include <vector>

#include "app/gui/controls/panel_context.h"

namespace app::plot {

struct BarSegment {
  double value = 0.0;  // below 0 or NaN = nothing; infinite = to the end
  ImU32 color = 0;
};

struct NamedBar {
  std::string name;
  std::vector<BarSegment> segments;
  std::string text{};   // behind the bar
  bool marked = false;  // its name in the accent
};

struct BarReference {
  double value = 0.0;
  std::string label{};
  ImU32 color = 0;
};

struct NamedBarsSpec {
  const char* id = "";
  ImVec2 size{};
  double end = 1.0;  // of the scale, which begins at 0
  std::vector<BarReference> references{};
};

/// What the bars need at this scale: as many rows, each with room for its name, text and bar.
ImVec2 named_bars_need(const Theme& theme, std::size_t rows);

/// Scrolls where the rows do not fit; on a screen for many people the bars fill the room. Returns
/// the bar under the mouse; -1 = none.
int draw_named_bars(const PanelContext& context, const NamedBarsSpec& spec,
                    const std::vector<NamedBar>& bars);

}  // namespace app::plot
