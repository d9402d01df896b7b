// The workspace map: which node of a captured graph holds addresses of which allocation, and where
// two of them may touch the same memory at the same time. No ImGui.
#pragma once

#include <string>
#include <vector>

#include "profiling/hazards/model/snapshot.h"
#include "profiling/hazards/snapshot/accesses.h"

namespace app {

struct MemoryCell {
  int node = 0;
  bool writes = false;      // known to write: memset or copy
  int unordered_with = -1;  // a node that may touch the same memory at the same time; -1 = none
};

struct MemoryRow {
  int allocation = -1;                 // index into Snapshot::ledger
  std::vector<MemoryCell> cells = {};  // ascending by node, one per node
  bool red = false;                    // some cell is unordered
};

struct MemoryMap {
  std::vector<profiling::Touch> touches = {};  // ascending by node
  std::vector<MemoryRow> rows = {};            // by role, then by first node; untouched ones last
  int clashes = 0;                             // rows with an unordered cell
};

/// Scratch and counters clash as a whole. In other memory, whose parts belong to different experts,
/// two touches clash when one is known to write and their ranges overlap.
MemoryMap map_memory(const profiling::Snapshot& snapshot, const profiling::GraphSnapshot& graph);

}  // namespace app
