#include "app/remote/fetched_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "app/protocol/paths.h"
#include "app/remote/remote_script.h"
#include "engine/model/paths.h"
#include "engine/model/sha256.h"
#include "engine/model/text.h"
#include "engine/model/unique_fd.h"
#include "profiling/document/quantity.h"

namespace app {
namespace {

namespace fs = std::filesystem;
using engine::Error;
using engine::ErrorCode;

constexpr std::string_view kMergedLater = "-wal";  // of an SQLite database
constexpr auto kKept = std::chrono::hours(24 * 30);

// $1: the file. Two lines: of it and of what is merged later, "SIZE MODIFIED", or "none".
constexpr std::string_view kState =
    "if [ -f \"$1\" ]; then :; else echo 'there is no such regular file' >&2; exit 1; fi; "
    "stat -L -c '%s %y' \"$1\" && "
    "if [ -f \"$1-wal\" ]; then stat -L -c '%s %y' \"$1-wal\"; else echo none; fi";
// $1: the file.
constexpr std::string_view kSend = "exec cat <\"$1\"";

/// The size that a line of kState begins with; 0 for "none".
std::uint64_t size_in(std::string_view line) {
  std::uint64_t size = 0;
  std::from_chars(line.data(), line.data() + line.size(), size);
  return size;
}

engine::Result<fs::path> folder_for(const SshConnection& ssh, const std::string& path) {
  const std::string cache = user_cache_folder();
  if (cache.empty()) {
    return Error{ErrorCode::Io, "there is no home folder to copy the file to; set XDG_CACHE_HOME"};
  }
  const fs::path all = fs::path(cache) / "fetched";
  std::error_code error;
  for (const fs::directory_entry& one : fs::directory_iterator(all, error)) {
    std::error_code unknown;
    const fs::file_time_type used = one.last_write_time(unknown);
    if (!unknown && fs::file_time_type::clock::now() - used > kKept) {
      fs::remove_all(one.path(), unknown);
    }
  }
  // Files of one name, of different machines and folders, stay apart.
  constexpr std::size_t kEnough = 16;
  const fs::path folder =
      all / engine::sha256_of(ssh.destination() + ":" + path).substr(0, kEnough);
  fs::remove_all(folder, error);
  fs::create_directories(folder, error);
  if (!error) fs::permissions(all, fs::perms::owner_all, error);
  if (!error) return folder;
  return Error{ErrorCode::Io,
               fmt::format("cannot make the folder {}: {}", folder.string(), error.message())};
}

class Fetch {
 public:
  Fetch(const SshConnection& ssh, const std::string& path, const FetchCallbacks& callbacks)
      : ssh_(ssh),
        path_(path),
        name_(engine::file_name_of(engine::last_part_of(path))),
        callbacks_(callbacks) {}

  engine::Result<std::string> copy() {
    ENGINE_ASSIGN(const std::string before, state());
    const std::size_t line = before.find('\n');
    const std::uint64_t size = size_in(before);
    const std::uint64_t later = size_in(std::string_view(before).substr(line + 1));
    all_ = size + later;
    ENGINE_ASSIGN(const fs::path folder, folder_for(ssh_, path_));
    std::error_code error;
    const fs::space_info space = fs::space(folder, error);
    if (!error && space.available < all_) {
      return Error{ErrorCode::Io, fmt::format("{} has {}, and {} has only {} left", name_,
                                              profiling::bytes_text(all_), folder.string(),
                                              profiling::bytes_text(space.available))};
    }
    const fs::path here = folder / name_;
    ENGINE_TRY(copy_one(path_, here, size));
    if (later > 0) {
      ENGINE_TRY(copy_one(path_ + std::string(kMergedLater),
                          here.string() + std::string(kMergedLater), later));
    }
    ENGINE_ASSIGN(const std::string after, state());
    if (after == before) return here.string();
    fs::remove_all(folder, error);
    return changed();
  }

 private:
  Error changed() const {
    return Error{ErrorCode::Device,
                 fmt::format("{} changed on {} while it was copied; try again when nothing writes "
                             "it there",
                             name_, ssh_.destination())};
  }

  engine::Result<ChildEnd> perform(const std::string& command, ChildRun run) {
    run.stop = callbacks_.stop;
    return performed_on(ssh_, command, std::move(run), fmt::format("copying {}", name_));
  }

  engine::Result<std::string> state() {
    ENGINE_ASSIGN(ChildEnd end, perform(script_command(kState, {path_}), {.argv = {}}));
    return std::move(end.output);
  }

  engine::Status copy_one(const std::string& from, const fs::path& to, std::uint64_t size) {
    const engine::UniqueFd file(
        ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.valid()) {
      return Error{ErrorCode::Io,
                   fmt::format("cannot write {}: {}", to.string(), std::strerror(errno))};
    }
    const std::string what = fmt::format("{}, {}", name_, profiling::bytes_text(all_));
    ChildRun run{.argv = {}, .output_file = file.get(), .output_limit = size};
    run.received = [&](std::uint64_t bytes) {
      if (callbacks_.progress) {
        callbacks_.progress(what, static_cast<double>(arrived_ + bytes) /
                                      static_cast<double>(std::max<std::uint64_t>(all_, 1)));
      }
    };
    ENGINE_TRY(perform(script_command(kSend, {from}), std::move(run)));
    std::error_code error;
    if (fs::file_size(to, error) != size || error) return changed();
    arrived_ += size;
    return {};
  }

  const SshConnection& ssh_;
  const std::string& path_;
  const std::string name_;
  const FetchCallbacks& callbacks_;
  std::uint64_t all_ = 0;
  std::uint64_t arrived_ = 0;
};

}  // namespace

engine::Result<std::string> fetch_file(const SshConnection& ssh, const std::string& path,
                                       const FetchCallbacks& callbacks) {
  return Fetch(ssh, path, callbacks).copy();
}

}  // namespace app
