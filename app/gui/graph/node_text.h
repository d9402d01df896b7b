// Nodes, launches and addresses of a snapshot in words, for read-outs, details and tables.
#pragma once

#include <string>
#include <vector>

#include "app/gui/graph/memory_map.h"
#include "app/gui/plot/format.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

/// "12  quantize_rows": its index and short name.
std::string node_title(const profiling::GraphSnapshot& graph, int node);
/// "grid 132 x 1 x 1, block 384"; empty if it is not a kernel or not known.
std::string launch_text(const profiling::SnapshotNode& node);
/// What a node other than a kernel does: "memset 4 096 B to 0", "copy 64 B from pageable host to
/// device".
std::string work_text(const profiling::SnapshotNode& node);
/// "workspace of fprop, layer 0 + 0x400".
std::string target_text(const profiling::Snapshot& snapshot, const profiling::Touch& touch);
/// The touches of one node; they are ascending by node.
std::vector<profiling::Touch> touches_of(const MemoryMap& memory, int node);

using plot::bytes_text;

}  // namespace app
