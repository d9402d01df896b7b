// Fetches a version of cuBLASLt to compare with, by the script that ships in assets.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "engine/model/error.h"

namespace app {

/// Where a fetched version lies: the user's cache, in which workers look. Empty without a home.
std::string fetched_library(const std::string& version);

/// Blocks for minutes: 400 MB from PyPI. `line` gets what the script says. The path of the library,
/// which is the pinned one of its version (engine/gemm/library_file.h): the one that is there
/// already, if it is; a damaged one is fetched again. InvalidArgument names the known versions:
/// what nobody has hashed is not fetched, and no option changes that. A person who has another
/// library names its file with --cublaslt.
engine::Result<std::string> fetch_library(const std::string& version,
                                          const std::function<void(const std::string&)>& line,
                                          const std::atomic<bool>& cancel);

}  // namespace app
