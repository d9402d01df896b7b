// The search order of cuBLASLt: what a person named, what ships beside the program, what app/run
// fetched, what the system has.
#include "engine/gemm/cublaslt_search.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace engine {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryName = "libcublasLt.so.13";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string{value};
}

/// "13.10.0.20" -> {13, 10, 0, 20}; text order would put 13.10 before 13.6.
std::vector<long> version_parts(const std::string& text) {
  std::vector<long> parts;
  const char* cursor = text.c_str();
  while (*cursor != '\0') {
    char* end = nullptr;
    const long part = std::strtol(cursor, &end, 10);
    if (end == cursor) break;
    parts.push_back(part);
    cursor = *end == '.' ? end + 1 : end;
  }
  return parts;
}

std::vector<fs::path> cached_libraries(const std::string& cache_folder) {
  std::vector<fs::path> versions;
  std::error_code error;
  for (fs::directory_iterator it(fs::path(cache_folder) / "cublas", error), end;
       !error && it != end; it.increment(error)) {
    versions.push_back(it->path());
  }
  std::sort(versions.begin(), versions.end(), [](const fs::path& a, const fs::path& b) {
    return version_parts(a.filename().string()) > version_parts(b.filename().string());
  });
  for (fs::path& version : versions) version = version / "lib" / kLibraryName;
  return versions;
}

}  // namespace

CublasLtPlaces cublaslt_places() {
  CublasLtPlaces places;
  places.named = environment("EXPERTSCOPE_CUBLASLT");
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (!error) places.executable_folder = executable.parent_path().string();
  std::string cache = environment("XDG_CACHE_HOME");
  if (cache.empty() && !environment("HOME").empty()) cache = environment("HOME") + "/.cache";
  if (!cache.empty()) places.cache_folder = cache + "/expertscope";
  places.system_folders = {"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu",
                           "/usr/lib/aarch64-linux-gnu", "/usr/lib64"};
  return places;
}

std::vector<std::string> find_cublaslt_libraries(const CublasLtPlaces& places) {
  std::vector<fs::path> candidates;
  if (!places.named.empty()) candidates.emplace_back(places.named);
  if (!places.executable_folder.empty()) {
    candidates.push_back(fs::path(places.executable_folder) / kLibraryName);
  }
  if (!places.cache_folder.empty()) {
    for (fs::path& cached : cached_libraries(places.cache_folder)) {
      candidates.push_back(std::move(cached));
    }
  }
  for (const std::string& folder : places.system_folders) {
    candidates.push_back(fs::path(folder) / kLibraryName);
  }
  std::vector<std::string> found;
  std::vector<fs::path> real_files;
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (!fs::is_regular_file(candidate, error)) continue;
    const fs::path real = fs::canonical(candidate, error);
    if (error || std::find(real_files.begin(), real_files.end(), real) != real_files.end()) {
      continue;
    }
    real_files.push_back(real);
    found.push_back(candidate.string());
  }
  return found;
}

}  // namespace engine
