// Reads the output of cudaGraphDebugDotPrint() and PyTorch's debug_dump(). Names in these files are
// not escaped as the DOT language requires, so this parses lines, not the language.
#pragma once

#include <string_view>

#include "engine/model/error.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// One graph per top-level cluster, degraded: topology, kernel names and launch sizes, memset and
/// memcpy operands as far as the file's flags included them. The file does not contain the kinds of
/// edges: programmatic ones are read as Full. InvalidArgument with line number and reason if the
/// file is not in this format, has an edge to an unknown node, a cycle, more than 64 MiB, or,
/// counting copies of child graphs, more than a million nodes or four million edges.
engine::Result<Snapshot> import_dot(std::string_view text, std::string_view file_name);

}  // namespace profiling
