// Only versions with a pinned hash are fetched, and each is checked before it is used.
#include "app/doctor/library_versions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "app/doctor/child_lines.h"
#include "app/protocol/paths.h"
#include "engine/gemm/library_file.h"

namespace app {
namespace {

namespace fs = std::filesystem;

}  // namespace

engine::Result<std::vector<profiling::LibraryFact>> shipped_facts() {
  return profiling::load_library_facts(assets_folder() + "/facts/libraries.json");
}

std::string fetched_library(const std::string& version) {
  const std::string cache = user_cache_folder();
  return cache.empty() ? cache : cache + "/cublas/" + version + "/lib/libcublasLt.so.13";
}

engine::Result<std::string> fetch_library(const std::string& version,
                                          const std::function<void(const std::string&)>& line,
                                          const std::atomic<bool>& cancel) {
  std::vector<std::string_view> versions;
  for (const engine::PinnedLibrary& one : engine::pinned_libraries()) {
    versions.push_back(one.version);
  }
  if (std::ranges::find(versions, version) == versions.end()) {
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
  if (fs::is_regular_file(library, error)) {
    const engine::Result<engine::LibraryFile> there = engine::LibraryFile::open(library);
    if (there.ok()) return library;
    line(there.error().message);  // and it is fetched again
  }
  const std::string folder = fs::path(library).parent_path().parent_path().string();
  ENGINE_ASSIGN(const std::optional<std::string> end,
                run_for_lines({"/usr/bin/env", "python3", "-I",
                               assets_folder() + "/fetch_cublaslt.py", version, folder},
                              ChildStream::Errors, line, [&] { return cancel.load(); }));
  if (!end) {
    return engine::Error{engine::ErrorCode::Cancelled, "fetching was cancelled"};
  }
  if (!fs::is_regular_file(library, error)) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("fetching cuBLASLt {} failed: the script {}; its output is "
                                     "above",
                                     version, *end)};
  }
  line("Checking");
  ENGINE_TRY(engine::LibraryFile::open(library));
  return library;
}

}  // namespace app
