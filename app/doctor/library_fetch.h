// Fetches a version of cuBLASLt to compare with, by the script that ships in assets.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "engine/model/error.h"

namespace app {

/// What can be fetched: version, and what people fetch it for.
struct FetchableLibrary {
  std::string version;  // "13.5.1.27"
  std::string purpose;
};
const std::vector<FetchableLibrary>& fetchable_libraries();

/// Where a fetched version lies: the user's cache, in which workers look. Empty without a home.
std::string fetched_library(const std::string& version);

/// Blocks for minutes: 400 MB from PyPI. `line` gets what the script says. The path of the library;
/// the one that is there already, if it is. InvalidArgument names the known versions.
engine::Result<std::string> fetch_library(const std::string& version,
                                          const std::function<void(const std::string&)>& line,
                                          const std::atomic<bool>& cancel);

}  // namespace app
