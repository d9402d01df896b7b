// One bar per expert or item, or several side by side: a value with whiskers and, on a second
// scale, a tick for a companion quantity (tokens).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/gui/plot/plot_frame.h"

namespace app::plot {

struct Bar {
  double value = 0.0;  // NaN = nothing measured: hatched; below 0 it hangs from the line at 0
  double low = 0.0;    // whisker; low == high draws none
  double high = 0.0;
  double companion = 0.0;
  ImU32 color = 0;
  ImU32 band = 0;        // between the whisker's ends; 0 = none
  bool outside = false;  // beyond any scale (an exact match's SNR): full height, open top
};

struct BarSpec {
  const char* id = "";
  ImVec2 size{};
  Axis y{};  // limits are computed when empty
  std::string x_label{};
  std::string companion_label{};  // empty = no companion ticks
  int selected = -1;              // framed; -1 = none
  std::size_t per_item = 1;       // bars of an item, side by side; they follow each other
};

struct BarHit {
  int index = -1;        // of the item under the mouse; -1 = none. The caller writes the read-out.
  bool clicked = false;  // in this frame
};
BarHit draw_bars(const PanelContext& context, const BarSpec& spec, const std::vector<Bar>& bars,
                 PlotView& view);

}  // namespace app::plot
