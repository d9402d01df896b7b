#include "app/remote/worker_bundle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/doctor/library_versions.h"
#include "app/protocol/child_run.h"
#include "app/protocol/paths.h"
#include "app/remote/login_command.h"
#include "engine/input/regular_file.h"
#include "engine/model/sha256.h"
#include "engine/model/unique_fd.h"

namespace app {
namespace {

namespace fs = std::filesystem;
using engine::Error;
using engine::ErrorCode;

constexpr std::string_view kLibraryFolder = "lib/expertscope";
constexpr std::string_view kCxxFolder = "lib/expertscope/c++";
/// Of glibc: the machine's own, always.
constexpr auto kOfTheMachine = std::to_array<std::string_view>({EXPERTSCOPE_GLIBC_LIBRARIES});
constexpr std::array<std::string_view, 2> kCxxLibraries = {"libstdc++.so.6", "libgcc_s.so.1"};
constexpr std::array<std::string_view, 2> kLoadedByName = {"libcupti.so.13",
                                                           "libexpertscope-attach.so"};

/// A folder that is removed with everything in it.
class StagingFolder {
 public:
  static engine::Result<StagingFolder> make(const fs::path& beside) {
    std::string name = (beside.parent_path() / ".bundle-XXXXXX").string();
    std::error_code error;
    fs::create_directories(beside.parent_path(), error);
    if (::mkdtemp(name.data()) == nullptr) {
      return Error{ErrorCode::Io, fmt::format("cannot make a folder in {}: {}",
                                              beside.parent_path().string(), std::strerror(errno))};
    }
    return StagingFolder(std::move(name));
  }
  ~StagingFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  StagingFolder(StagingFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  StagingFolder& operator=(StagingFolder&&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit StagingFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

engine::Result<ChildEnd> run_tool(std::vector<std::string> argv,
                                  const std::function<bool()>& stop) {
  const std::string name = argv.front();
  ENGINE_ASSIGN(std::optional<ChildEnd> end, run_child({.argv = std::move(argv), .stop = stop}));
  if (!end) return Error{ErrorCode::Cancelled, "packing the worker was cancelled"};
  if (end->succeeded()) return *std::move(end);
  return Error{ErrorCode::Io, fmt::format("packing the worker failed: {} {}; it printed: {}", name,
                                          end->how, end->errors)};
}

/// Shared libraries by the name they are looked for with, as the dynamic linker finds them here.
engine::Result<std::map<std::string, std::string>> libraries_of(const std::string& program,
                                                                const std::function<bool()>& stop) {
  ENGINE_ASSIGN(const ChildEnd listed, run_tool({"ldd", program}, stop));
  std::map<std::string, std::string> libraries;
  std::string_view text = listed.output;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    // "\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f...)"
    const std::size_t arrow = line.find(" => ");
    if (arrow == std::string_view::npos) continue;
    line.remove_prefix(line.find_first_not_of('\t'));
    const std::string name(line.substr(0, line.find(' ')));
    std::string_view path = line.substr(line.find(" => ") + 4);
    path = path.substr(0, path.rfind(" ("));
    if (!path.starts_with('/')) {
      return Error{ErrorCode::NotFound,
                   fmt::format("{} needs {}, which is not installed here", program, name)};
    }
    libraries[name] = path;
  }
  return libraries;
}

engine::Status put_copy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (!error) return {};
  return Error{ErrorCode::Io, fmt::format("cannot copy {} to {}: {}", from.string(), to.string(),
                                          error.message())};
}

/// Libraries that are loaded by name, which ldd does not list. They are packed if the build
/// or an installation has put them into its folder of libraries; an installation's also holds those
/// of the window, which stay here.
std::map<std::string, std::string> libraries_loaded_by_name(const std::string& programs) {
  const fs::path folder = (fs::path(programs) / ".." / kLibraryFolder).lexically_normal();
  std::map<std::string, std::string> present;
  for (const std::string_view name : kLoadedByName) {
    std::error_code error;
    if (fs::is_regular_file(folder / name, error)) present.emplace(name, folder / name);
  }
  return present;
}

std::string worker_in(const std::string& programs) { return programs + "/expertscope-worker"; }
std::array<std::string, 3> programs_in(const std::string& programs) {
  return {worker_in(programs), programs + "/expertscope-guard",
          fmt::format("{}/{}", programs, kAttachAgent)};
}

engine::Status stage(const std::string& programs, const fs::path& tree,
                     const std::function<bool()>& stop) {
  std::map<std::string, std::string> needed;
  for (const std::string& program : programs_in(programs)) {
    ENGINE_TRY(put_copy(program, tree / "bin" / fs::path(program).filename()));
    ENGINE_ASSIGN(const auto libraries, libraries_of(program, stop));
    needed.insert(libraries.begin(), libraries.end());
  }
  needed.merge(libraries_loaded_by_name(programs));
  for (const auto& [name, path] : needed) {
    if (std::ranges::find(kOfTheMachine, name) != kOfTheMachine.end()) continue;
    const bool cxx = std::ranges::find(kCxxLibraries, name) != kCxxLibraries.end();
    ENGINE_TRY(put_copy(path, tree / (cxx ? kCxxFolder : kLibraryFolder) / name));
  }
  return put_copy(assets_folder() + "/fetch_cublaslt.py",
                  tree / "share/expertscope/fetch_cublaslt.py");
}

/// "<SHA-256>  bin/expertscope-worker\n...", sorted by name.
engine::Result<std::string> manifest_of(const fs::path& tree) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(tree, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_regular_file(error)) files.push_back(it->path());
  }
  std::ranges::sort(files);
  std::string manifest;
  for (const fs::path& file : files) {
    const engine::UniqueFd open(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    ENGINE_ASSIGN(const std::string hash, engine::sha256_of(open.get()));
    manifest += fmt::format("{}  {}\n", hash, file.lexically_relative(tree).string());
  }
  return manifest;
}

engine::Status write_text(const fs::path& path, std::string_view text) {
  const engine::UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
  return Error{ErrorCode::Io,
               fmt::format("cannot write {}: {}", path.string(), std::strerror(errno))};
}

/// Beside an archive, so that it need not be unpacked again: its name, "cuda" or "cpu", and the
/// stamp of the files it was made from.
std::string note_path(const std::string& bundle) { return bundle + ".note"; }

constexpr std::size_t kMaxNoteBytes = 256;

/// Changes with any file of ours that goes into a bundle. NotFound without a worker.
engine::Result<std::string> current_stamp(const std::string& programs) {
  std::string facts;
  std::vector<std::string> needed = {assets_folder() + "/fetch_cublaslt.py"};
  std::ranges::copy(programs_in(programs), std::back_inserter(needed));
  for (const auto& [name, path] : libraries_loaded_by_name(programs)) needed.push_back(path);
  for (const std::string& path : needed) {
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0) {
      return Error{ErrorCode::NotFound,
                   fmt::format("there is no worker to send: {} is missing", path)};
    }
    facts += fmt::format("{} {} {} {}.{} ", path, file.st_ino, file.st_size, file.st_mtim.tv_sec,
                         file.st_mtim.tv_nsec);
  }
  return engine::sha256_of(facts);
}

engine::Result<WorkerBundle> read_bundle(const std::string& path) {
  ENGINE_ASSIGN(const std::string note, engine::read_file(note_path(path), kMaxNoteBytes));
  std::error_code error;
  WorkerBundle bundle{.path = path,
                      .name = note.substr(0, note.find(' ')),
                      .bytes = fs::file_size(path, error),
                      .cuda = note.find(" cuda ") != std::string::npos};
  if (!error && is_bundle_name(bundle.name)) return bundle;
  return Error{ErrorCode::Io, fmt::format("{} is not a bundle; remove it", path)};
}

bool is_current(const std::string& path, const std::string& stamp) {
  const engine::Result<std::string> note = engine::read_file(note_path(path), kMaxNoteBytes);
  std::error_code error;
  return note.ok() && note.value().ends_with(' ' + stamp + '\n') && fs::exists(path, error);
}

/// Packs the worker in `programs` into `path`, replacing what is there; takes seconds.
engine::Result<WorkerBundle> make_bundle(const std::string& programs, const std::string& path,
                                         const std::function<bool()>& stop) {
  ENGINE_ASSIGN(const std::string stamp, current_stamp(programs));
  ENGINE_ASSIGN(const StagingFolder staging, StagingFolder::make(path));
  const fs::path tree = fs::path(staging.path()) / "tree";
  ENGINE_TRY(stage(programs, tree, stop));
  ENGINE_ASSIGN(const std::string manifest, manifest_of(tree));
  ENGINE_TRY(write_text(tree / "MANIFEST", manifest));
  const std::string archive = staging.path() + "/archive";
  ENGINE_TRY(
      run_tool({"tar", "--create", "--gzip", "--file", archive, "--directory", tree.string(),
                "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "."},
               stop));
  ENGINE_ASSIGN(const ChildEnd version, run_tool({worker_in(programs), "--version"}, stop));
  const bool cuda = version.output.find("CUDA") != std::string::npos;
  ENGINE_TRY(write_text(note_path(archive), fmt::format("{} {} {}\n", engine::sha256_of(manifest),
                                                        cuda ? "cuda" : "cpu", stamp)));
  std::error_code error;
  fs::rename(archive, path, error);
  if (!error) fs::rename(note_path(archive), note_path(path), error);
  if (error) {
    return Error{ErrorCode::Io, fmt::format("cannot write {}: {}", path, error.message())};
  }
  return read_bundle(path);
}

}  // namespace

bool is_bundle_name(std::string_view name) {
  constexpr std::size_t kDigits = 64;
  return name.size() == kDigits &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

engine::Result<WorkerBundle> provide_bundle(const std::string& programs,
                                            const std::function<bool()>& stop) {
  ENGINE_ASSIGN(const std::string stamp, current_stamp(programs));
  const std::string cache = user_cache_folder();
  if (cache.empty()) {
    return Error{ErrorCode::Io,
                 "there is no home folder to keep the bundle in; set XDG_CACHE_HOME"};
  }
  // One for each place of the program, so that two build trees do not replace each other's.
  const std::string path = fmt::format("{}/bundles/{}.bundle", cache,
                                       engine::sha256_of(worker_in(programs)).substr(0, 16));
  return is_current(path, stamp) ? read_bundle(path) : make_bundle(programs, path, stop);
}

engine::Result<WorkerBundle> copy_bundle(WorkerBundle bundle, const std::string& path) {
  ENGINE_TRY(put_copy(bundle.path, path));
  bundle.path = path;
  return bundle;
}

}  // namespace app
