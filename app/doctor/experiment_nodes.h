// Whether the nodes that an experiment names are the same in another process's capture.
#pragma once

#include <optional>

#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

/// The first node that `experiment` names in `ours` and that `theirs` does not have, or has as
/// another one. None where nothing was captured: then nothing was changed either.
std::optional<profiling::NodeRef> stranger(const profiling::Snapshot& ours,
                                           const profiling::Snapshot& theirs,
                                           const profiling::Experiment& experiment);

}  // namespace app
