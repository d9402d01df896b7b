// What an experiment changes, in words: for a progress bar or a table row.
#pragma once

#include <string>

#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

/// "fprop, layer 0" or, for a node without a stage, "spin_kernel (node 4)"; with the graph's name
/// if there are several. A node that is not in the snapshot is "node 4".
std::string node_title(const profiling::Snapshot& snapshot, profiling::NodeRef node);

/// "eager, three times", "replayed", "fprop, layer 1 moved", "workspaces filled with 0xff", ...
std::string experiment_title(const profiling::Snapshot& snapshot,
                             const profiling::Experiment& experiment);

/// Identical replays: nothing is changed. The deadline and the marker board are not changes.
bool is_plain(const profiling::Experiment& experiment);

}  // namespace app
