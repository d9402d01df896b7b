// Validation of every snapshot read from a file or received from a worker.
#pragma once

#include "engine/model/error.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Indices in range, a node after its parent and its dependencies, both ends of an edge under the
/// same parent, parameter slots inside the argument bytes, allocations ascending by id and not
/// wrapping around, enumerators known. The error names graph, node and field.
engine::Status check_snapshot(const Snapshot& snapshot);

}  // namespace profiling
