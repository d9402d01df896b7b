// Which nodes of a captured graph reach their operands through arrays of addresses, and the words
// for it. No ImGui.
#pragma once

#include <string>

#include "app/plot/graph_facts.h"

namespace app {

PointerArrays pointer_arrays(const profiling::Snapshot& snapshot,
                             const profiling::GraphSnapshot& graph, const MemoryMap& map);

/// Why products have no mark in their operands' rows of the memory map; empty where they have.
std::string arrays_sentence(const PointerArrays& arrays);
/// How this node reaches its operands; empty if not through arrays.
std::string operands_words(const PointerArrays& arrays, int node);

}  // namespace app
