#include "engine/gemm/library_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/model/path_text.h"
#include "engine/model/sha256.h"

namespace engine {

// The search order of cuBLASLt: the user's choice, the program's folder, the cache of fetched
// versions, the system.
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

namespace {

namespace fs = std::filesystem;

constexpr const char* kNoteName = "checked";

std::string error_text(int number) {
  return std::error_code(number, std::generic_category()).message();
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// The facts that must not have changed since the file was hashed.
std::string note_of(const struct stat& file, std::string_view sha256) {
  return fmt::format("{} owner {} device {} inode {} size {} modified {} changed {}\n", sha256,
                     file.st_uid, file.st_dev, file.st_ino, file.st_size, nanoseconds(file.st_mtim),
                     nanoseconds(file.st_ctim));
}

/// Writable by this user or root only.
bool only_ours(const struct stat& file) {
  return S_ISREG(file.st_mode) && (file.st_uid == ::geteuid() || file.st_uid == 0) &&
         (file.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string read_note(const std::string& path) {
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return {};
  struct stat file{};
  std::array<char, 512> text;
  ssize_t count = -1;
  if (::fstat(descriptor, &file) == 0 && only_ours(file)) {
    count = ::read(descriptor, text.data(), text.size());
  }
  ::close(descriptor);
  return count > 0 ? std::string(text.data(), static_cast<std::size_t>(count)) : std::string();
}

/// Written next to it and renamed. Without a note the next process only has to hash again.
void write_note(const std::string& path, const std::string& text) {
  std::string beside = path + ".XXXXXX";
  const int descriptor = ::mkostemp(beside.data(), O_CLOEXEC);
  if (descriptor < 0) return;
  const bool whole =
      ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(descriptor);
  if (!whole || ::rename(beside.c_str(), path.c_str()) != 0) ::unlink(beside.c_str());
}

/// "13.10.0.20" for <cache>/cublas/13.10.0.20/lib/...; empty for a file that is not in the cache.
std::string cached_version(const fs::path& path, const CublasLtPlaces& places) {
  if (places.cache_folder.empty()) return {};
  std::error_code error;
  const fs::path cache = fs::weakly_canonical(fs::path(places.cache_folder) / "cublas", error);
  if (error) return {};
  for (const fs::path& folder :
       {cache, (fs::path(places.cache_folder) / "cublas").lexically_normal()}) {
    const fs::path inside = path.lexically_relative(folder);
    if (!inside.empty() && *inside.begin() != ".." && *inside.begin() != ".") {
      return inside.begin()->string();
    }
  }
  return {};
}

}  // namespace

const std::vector<PinnedLibrary>& pinned_libraries() {
  static const std::vector<PinnedLibrary> pins = {
      {"13.4.1.1", "8d702c94d90bd4bd0c032fd4207ae655b4a2d036bd31920c1fbf4ecaf3547c59",
       "grouped products that share a workspace go wrong in a replayed graph"},
      {"13.5.1.27", "db5c748bc095423401029c00294fb8eb3c721c75c363f3d8b744b7c274504ae0",
       "grouped products that share a workspace go wrong in a replayed graph"},
      {"13.6.0.2", "362e239322fd0989f2657db065615262add7e7a3b6f222070be2a05ecc8d586b",
       "the same, for some shapes, and some replays hang"},
      {"13.6.1.10", "bf8a49bd6dd9d8e07c6e361ea44967079e68ea3485e0e412ed801745da605fb6",
       "the first that was measured right"},
      {"13.6.2.16", "d1e57acddc412faa23ba50c179653d86e9fa03b3e5db1144a07203fdaf86c029",
       "measured right"},
      {"13.7.0.27", "39749400e4f4afe82f514a1c2d2870255b7de1b2b4cc143fef928a6b5fa3768a",
       "measured right"},
      {"13.8.0.4", "a1821093b6b29ff871a07532071f3eaf6996d549d54f53235763abc12b8ad19f",
       "measured right"},
      {"13.8.2.12", "d8d152ba3ce95fe54912894c2e8ced216f11a590bc4e61db65c20bcdb9af33be",
       "measured right"},
      {"13.10.0.20", "b58e18ab4a6adc9bf4833d5cfe28db688e675fd6021db7eaf5da78d23f95d2de",
       "the default"}};
  return pins;
}

LibraryFile::LibraryFile(LibraryFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      hashed_(other.hashed_) {}

LibraryFile::~LibraryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<LibraryFile> LibraryFile::open(const std::string& path) {
  return open(path, cublaslt_places(), pinned_libraries());
}

Result<LibraryFile> LibraryFile::open(const std::string& path, const CublasLtPlaces& places,
                                      const std::vector<PinnedLibrary>& pins) {
  // Non-blocking: opening a pipe of that name would wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    return Error{ErrorCode::NotFound,
                 fmt::format("{}: {}", shown_path(path), path_error_text(path, errno))};
  }
  LibraryFile file(path, descriptor);
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{} is not a regular file", path)};
  }
  // Where the descriptor's file lies, not where the name pointed a moment ago.
  std::error_code error;
  const fs::path real = fs::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), error);
  if (error) return Error{ErrorCode::Io, fmt::format("{}: /proc is not there", path)};
  // And where the name points: a link out of the cache must not bypass the check.
  std::string version = cached_version(fs::absolute(path, error).lexically_normal(), places);
  if (version.empty()) version = cached_version(real, places);
  if (version.empty()) return file;
  const auto pin =
      std::ranges::find_if(pins, [&](const PinnedLibrary& one) { return one.version == version; });
  if (pin == pins.end()) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{} is in the folder of fetched libraries, and the checksum of cuBLASLt {} is "
                    "not known here: move it elsewhere and name it with --cublaslt",
                    path, version)};
  }
  const std::string folder = (fs::path(places.cache_folder) / "cublas" / version).string();
  ENGINE_TRY(file.check_cached(folder, *pin));
  return file;
}

Status LibraryFile::check_cached(const std::string& folder, const PinnedLibrary& pin) {
  struct stat facts{};
  if (::fstat(descriptor_, &facts) != 0) return Error{ErrorCode::Io, error_text(errno)};
  if (!only_ours(facts)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} can be changed by others (owner {}, mode {:o}): it must belong to "
                             "this user or root, and nobody else may write it",
                             path_, facts.st_uid, facts.st_mode & 07777U)};
  }
  const std::string note_path = folder + "/" + kNoteName;
  if (read_note(note_path) == note_of(facts, pin.sha256)) return {};
  const Result<std::string> hash = sha256_of(descriptor_);
  if (!hash.ok()) return Error{hash.error().code, path_ + ": " + hash.error().message};
  hashed_ = true;
  if (hash.value() != pin.sha256) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{} is not cuBLASLt {} as it was fetched (SHA-256 {}, it should be {}); "
                    "it is not loaded. `expertscope doctor fetch {}` fetches it again",
                    path_, pin.version, hash.value(), pin.sha256, pin.version)};
  }
  // Facts from before the reading: a file that changed meanwhile is hashed again next time.
  write_note(note_path, note_of(facts, pin.sha256));
  return {};
}

Result<void*> LibraryFile::load() {
  const std::string name = fmt::format("/proc/self/fd/{}", descriptor_);
  // Local symbols: two versions in one process must not see each other's. By this name the loader
  // finds no other files next to it, whatever its $ORIGIN says.
  void* library = ::dlopen(name.c_str(), RTLD_LOCAL | RTLD_NOW);
  if (library == nullptr) {
    const char* text = ::dlerror();
    return Error{ErrorCode::NotFound,
                 fmt::format("{}: {}", path_, text == nullptr ? "unknown loader error" : text)};
  }
  descriptor_ = -1;  // kept open for good
  return library;
}

}  // namespace engine
