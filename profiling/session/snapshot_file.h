// Opens whatever holds captured graphs: a recording, or a file of cudaGraphDebugDotPrint().
#pragma once

#include <string>
#include <vector>

#include "engine/model/error.h"
#include "profiling/session/session_file.h"

namespace profiling {

struct OpenedSnapshot {
  std::string title = {};  // "run 2: <subject>", "visit 1: <subject>", or the file's name
  Snapshot snapshot = {};
  int run = -1;    // index into Session::runs, -1 = not of a run
  int visit = -1;  // index into Session::visits, -1 = not of a visit
};

/// Never empty: a recording gives the snapshots of its runs, then of its visits, a dot file gives
/// one, which is degraded. Told apart by content, not by name. Errors: NotFound, and
/// InvalidArgument for a file that is neither, is damaged, or holds no captured graph.
engine::Result<std::vector<OpenedSnapshot>> open_snapshot(const std::string& path,
                                                          const RequestCodec& codec);

}  // namespace profiling
