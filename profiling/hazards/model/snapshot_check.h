// What every reader of snapshots checks before it believes one: from a file or from a worker.
#pragma once

#include "engine/model/error.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Indices in range, a node behind its parent and its dependencies, ends of an edge under the same
/// parent, parameter slots inside the argument bytes, allocations ascending by id and not wrapping
/// round, enumerations known. The error names graph, node and field.
engine::Status check_snapshot(const Snapshot& snapshot);

}  // namespace profiling
