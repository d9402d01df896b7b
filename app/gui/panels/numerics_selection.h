// What a range selected on the shared axis of the histograms contains: whole bins, their share, and
// how many scales of every expert. No ImGui calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/panels/numerics_model.h"

namespace app {

struct SelectedSeries {
  std::string name;  // "before", "after", "scale", "amax"
  double count = 0.0;
  double total = 0.0;  // including zeros, infinities and NaN
};

struct ValueSelection {
  plot::Range asked;    // log2, as drawn
  plot::Range snapped;  // to the edges of magnitude bins: the counts are for this range
  std::vector<SelectedSeries> series = {};
  /// One per expert; empty if the scale map is folded, so that single scales are not known.
  std::vector<std::uint64_t> scales_of_experts = {};
};

/// Counts whole bins: those whose centre lies in the range.
ValueSelection select_values(const NumericsModel& model, plot::Range range);
/// Edges of the magnitude bins whose centres lie in the range; empty if there is none.
plot::Range snapped_to_bins(plot::Range range);
/// Tab-separated.
std::string selection_list(const ValueSelection& selection);

}  // namespace app
