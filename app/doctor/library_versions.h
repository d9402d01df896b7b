// cuBLASLt versions: the known facts about them that ship with the programs, and fetching one to
// compare with, by running the script in assets.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "profiling/hazards/rules/diagnosis.h"

namespace app {

/// From the assets.
engine::Result<std::vector<profiling::LibraryFact>> shipped_facts();

/// Where a fetched version is: the user's cache, where workers look. Empty without a home folder.
std::string fetched_library(const std::string& version);

/// Blocks for minutes: 400 MB from PyPI. `line` receives the script's output. Returns the path of
/// the library, which is the pinned one of its version (engine/gemm/library_file.h): an existing
/// one if it is intact; a damaged one is fetched again. InvalidArgument names the known versions: a
/// version without a pinned hash is not fetched, and no option changes that. A user with another
/// library names its file with --cublaslt.
engine::Result<std::string> fetch_library(const std::string& version,
                                          const std::function<void(const std::string&)>& line,
                                          const std::atomic<bool>& cancel);

}  // namespace app
