// A plot of bars: one or several per expert or item.
#pragma once

#include <string>
#include <vector>

#include "app/gui/plot/marks.h"

namespace app::plot {

struct BarSpec {
  const char* id = "";
  ImVec2 size{};
  Axis y{};  // limits are computed when empty
  std::string x_label{};
  std::string companion_label{};  // empty = no companion ticks
  int selected = -1;              // framed; -1 = none
  std::size_t per_item = 1;
};

/// Returns the item under the mouse; the caller writes the read-out.
MarkHit draw_bars(const PanelContext& context, const BarSpec& spec, const std::vector<Bar>& bars,
                  PlotView& view);

}  // namespace app::plot
