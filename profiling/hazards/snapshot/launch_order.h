// In which order a step launches its graphs, and which of those launches may run at the same time.
#pragma once

#include <span>
#include <vector>

#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Snapshot::launches, or what it stands for where it is empty.
std::vector<GraphLaunch> launches_of(const Snapshot& snapshot);

/// The number of each launch's wave: launches of one wave may run at the same time, and a wave
/// waits for the one before it.
std::vector<int> waves_of(std::span<const GraphLaunch> launches);

}  // namespace profiling
