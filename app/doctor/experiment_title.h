// What an experiment changes, in words: the line of a progress bar, the row of a table.
#pragma once

#include <string>

#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

/// "fprop, layer 0" or, without a stage of its own, "spin_kernel (node 4)"; with the graph's name
/// where there are several. A node that is not in the snapshot is "node 4".
std::string node_title(const profiling::Snapshot& snapshot, profiling::NodeRef node);

/// "eager, three times", "replayed", "fprop, layer 1 moved", "workspaces filled with 0xff", ...
std::string experiment_title(const profiling::Snapshot& snapshot,
                             const profiling::Experiment& experiment);

/// Identical replays: nothing is changed. The deadline and the marker board change nothing.
bool is_plain(const profiling::Experiment& experiment);

}  // namespace app
