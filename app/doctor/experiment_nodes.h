// Whether the nodes that an experiment names are the same in another process's capture.
#pragma once

#include <optional>

#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

/// The first node named by `experiment` in `ours` that `theirs` lacks or has as a different node.
/// Empty if nothing was captured: then nothing was changed either.
std::optional<profiling::NodeRef> find_foreign_node(const profiling::Snapshot& ours,
                                                    const profiling::Snapshot& theirs,
                                                    const profiling::Experiment& experiment);

}  // namespace app
