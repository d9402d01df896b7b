// The outputs of a replay's checks as rows of a grid.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "profiling/hazards/model/experiment.h"

namespace app {

struct CheckRow {
  std::string output{};
  float top = 0.0F;  // below the top of the grid
  float height = 0.0F;
};

/// In the order in which they were checked. All are equally high: an output of one part is as worth
/// seeing as one with a part for each expert. `most`: the highest that a part may be.
std::vector<CheckRow> check_rows(std::span<const profiling::OutputCheck> checks, float room,
                                 float most);

}  // namespace app
