// What a process did last to its memory and its graphs before it began to wait, in words.
#pragma once

#include <cstdint>
#include <string>

#include "profiling/attach/observed/observed_process.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

/// Sentences, each with a blank behind it. `graph`: its number, whose memory and updates come
/// first; 0 = none is known. `since`: when the wait began.
std::string recent_words(const profiling::ObservedProcess& process,
                         const profiling::Snapshot& snapshot, std::uint64_t graph,
                         std::uint64_t since);

/// Of the graph with this number; -1 = the snapshot has it not.
int graph_in(const profiling::Snapshot& snapshot, std::uint64_t graph);

}  // namespace app
