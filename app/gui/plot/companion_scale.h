// Bars may have a companion quantity (rows) as ticks without an axis: where the ticks stand.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/plot/format.h"
#include "app/gui/plot/marks.h"

namespace app::plot {

/// Units of the bars' axis per unit of the companion: the largest companion stands as high as the
/// highest bar. Whiskers do not count: one that is far above the bars would lift all ticks to its
/// end, where they read as a limit. 0 where there is nothing to scale to.
inline double companion_scale(const std::vector<Bar>& bars) {
  double highest = 0.0;
  double peak = 0.0;
  for (const Bar& bar : bars) {
    if (std::isfinite(bar.value)) highest = std::max(highest, bar.value);
    peak = std::max(peak, bar.companion);
  }
  return peak > 0.0 ? highest / peak : 0.0;
}

/// The name of the ticks, with what they stand for, lest they be read on the bars' axis: "rows, own
/// scale: all 1 024", "rows, own scale: 65 to 7 972".
inline std::string companion_words(std::string_view label, const std::vector<Bar>& bars) {
  double lowest = bars.empty() ? 0.0 : bars.front().companion;
  double highest = lowest;
  for (const Bar& bar : bars) {
    lowest = std::min(lowest, bar.companion);
    highest = std::max(highest, bar.companion);
  }
  const auto text = [](double value) { return count_text(static_cast<std::uint64_t>(value)); };
  std::string words = std::string(label) + ", own scale";
  words += lowest == highest ? ": all " : ": " + text(lowest) + " to ";
  return words + text(highest);
}

}  // namespace app::plot
