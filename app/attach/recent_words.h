// What a process did last to its memory and its graphs before it began to wait, in words.
#pragma once

#include <cstdint>
#include <string>

#include "profiling/attach/observed/observed_process.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

/// How a process can keep more records than its spool has room for.
inline constexpr const char* kMoreRecords = "--spool-limit allows more";

/// Sentences, each with a blank behind it. `graph`: the number of the one that hangs, whose memory
/// and updates come first; 0 = none is known. `since`: when the wait began, in nanoseconds on the
/// process's CLOCK_MONOTONIC.
std::string recent_words(const profiling::ObservedProcess& process,
                         const profiling::Snapshot& snapshot, std::uint64_t graph,
                         std::uint64_t since);

/// The graph's place in the snapshot, by its number; -1 = it is not there.
int graph_in(const profiling::Snapshot& snapshot, std::uint64_t graph);

}  // namespace app
