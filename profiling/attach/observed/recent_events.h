// What a process did last to its memory and to its graphs: where people look first when one hangs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/allocation.h"

namespace profiling {

inline constexpr std::size_t kMostRecent = 3;  // of each sort

/// Times are nanoseconds on the process's CLOCK_MONOTONIC.
struct RecentMemory {
  engine::Allocation memory{};
  int node = -1;  // of the graph that was asked for, which holds an address in it; -1 = none does
  std::uint64_t time = 0;
};

struct RecentUpdate {
  std::uint64_t graph = 0;  // ObservedGraph::number
  std::string call{};       // "cudaGraphExecUpdate"
  int node = -1;            // that the call names; -1 = none, or the graph has it no longer
  std::uint64_t time = 0;
};

/// Each list with the newest first: of one graph, or if it has none, of the whole process.
struct RecentEvents {
  std::vector<RecentMemory> released{};
  std::vector<RecentMemory> allocated{};
  std::vector<RecentUpdate> updates{};
  bool memory_known = false;   // which memory that graph holds: all its nodes were read
  bool updates_known = false;  // which updates are its own: it was seen, and is not forgotten
};

}  // namespace profiling
