// Reads what cudaGraphDebugDotPrint() and PyTorch's debug_dump() write. Names in these files are
// not escaped as the DOT language wants, so this reads lines, not the language.
#pragma once

#include <string_view>

#include "engine/model/error.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// One graph (one for each top-level cluster), degraded: topology, kernel names and launch sizes,
/// memset and memcpy operands as far as the file's flags had them. The file does not tell the kinds
/// of edges: programmatic ones come out as Full. InvalidArgument with line number and reason for
/// what is no such file, has an edge to an unknown node, a cycle, more than 64 MiB, or, copies of
/// child graphs counted, more than a million nodes or four million edges.
engine::Result<Snapshot> import_dot(std::string_view text, std::string_view file_name);

}  // namespace profiling
