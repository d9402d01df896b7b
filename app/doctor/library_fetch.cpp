#include "app/doctor/library_fetch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "app/doctor/child_lines.h"
#include "app/protocol/paths.h"

namespace app {
namespace {

namespace fs = std::filesystem;

std::string cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return cache;
  }
  const char* home = std::getenv("HOME");
  return home == nullptr ? std::string() : std::string(home) + "/.cache";
}

bool known(const std::string& version) {
  const auto& all = fetchable_libraries();
  return std::any_of(all.begin(), all.end(),
                     [&](const FetchableLibrary& one) { return one.version == version; });
}

}  // namespace

const std::vector<FetchableLibrary>& fetchable_libraries() {
  static const std::vector<FetchableLibrary> kLibraries = {
      {"13.4.1.1", "grouped products that share a workspace go wrong in a replayed graph"},
      {"13.5.1.27", "grouped products that share a workspace go wrong in a replayed graph"},
      {"13.6.0.2", "the same, for some shapes, and some replays hang"},
      {"13.6.1.10", "the first that was measured right"},
      {"13.6.2.16", "measured right"},
      {"13.7.0.27", "measured right"},
      {"13.8.0.4", "measured right"},
      {"13.8.2.12", "measured right"},
      {"13.10.0.20", "the default"}};
  return kLibraries;
}

std::string fetched_library(const std::string& version) {
  const std::string cache = cache_folder();
  return cache.empty() ? cache
                       : cache + "/expertscope/cublas/" + version + "/lib/libcublasLt.so.13";
}

engine::Result<std::string> fetch_library(const std::string& version,
                                          const std::function<void(const std::string&)>& line,
                                          const std::atomic<bool>& cancel) {
  if (!known(version)) {
    std::vector<std::string> versions;
    for (const FetchableLibrary& one : fetchable_libraries()) versions.push_back(one.version);
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("cuBLASLt {} is not one of the versions that can be fetched: "
                                     "{}",
                                     version, fmt::join(versions, ", "))};
  }
  const std::string library = fetched_library(version);
  if (library.empty()) {
    return engine::Error{engine::ErrorCode::Io,
                         "there is no home folder to keep it in; set XDG_CACHE_HOME"};
  }
  std::error_code error;
  if (fs::is_regular_file(library, error)) return library;
  const std::string folder = fs::path(library).parent_path().parent_path().string();
  const engine::Result<std::optional<std::string>> end = run_for_lines(
      {"/usr/bin/env", "python3", assets_folder() + "/fetch_cublaslt.py", version, folder},
      ChildStream::Errors, line, [&] { return cancel.load(); });
  if (!end.ok()) return end.error();
  if (!end.value()) {
    return engine::Error{engine::ErrorCode::Cancelled, "fetching was cancelled"};
  }
  if (!fs::is_regular_file(library, error)) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("fetching cuBLASLt {} failed: the script {}; what it said is "
                                     "above",
                                     version, *end.value())};
  }
  return library;
}

}  // namespace app
