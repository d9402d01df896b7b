// Reads what cudaGraphDebugDotPrint() and PyTorch's debug_dump() write. Names in these files are
// not escaped as the DOT language wants, so this reads lines, not the language.
#pragma once

#include <string_view>

#include "engine/model/error.h"
#include "profiling/graph/snapshot.h"

namespace profiling {

/// One graph, degraded: topology, kernel names and launch sizes, memset and memcpy operands as far
/// as the file's flags had them. InvalidArgument with line number and reason for what is no such
/// file, has an edge to an unknown node, or a cycle.
engine::Result<Snapshot> import_dot(std::string_view text, std::string_view file_name);

}  // namespace profiling
