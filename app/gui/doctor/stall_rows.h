// A hung replay as rows of a timeline, without drawing it: which nodes get a row, and which are
// counted in one. Nodes are in the order of the capture; when one finished was never measured.
#pragma once

#include <cstddef>
#include <vector>

#include "profiling/hazards/model/experiment.h"

namespace app {

struct StallRow {
  profiling::NodeState state = profiling::NodeState::Done;
  int node = -1;  // -1 = several nodes, counted
  int count = 1;
  /// Of a row of finished nodes: its place among those, from left to right.
  int place = 0;
};

/// Finished nodes, running ones, those that were never started, those without a marker. At most
/// `most` rows (of at least 8): nodes close to where the replay stands keep their own.
std::vector<StallRow> stall_rows(const std::vector<profiling::NodeState>& nodes, std::size_t most);

}  // namespace app
