#include "app/remote/sent_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "app/protocol/terminal_text.h"
#include "app/protocol/worker_command.h"
#include "app/remote/remote_script.h"
#include "engine/input/regular_file.h"
#include "engine/model/path_text.h"
#include "engine/model/sha256.h"
#include "engine/model/text.h"
#include "profiling/document/quantity.h"

namespace app {
namespace {

using engine::Error;
using engine::ErrorCode;

constexpr std::string_view kThere = "there\n";

// $1: the file's place. Using it keeps it from being removed as old.
constexpr std::string_view kFindFile =
    "if [ -f \"$1\" ]; then touch -c \"$1\" \"${1%/*}\"; echo there; fi";
// $1: its place, $2: its SHA-256, $3: the folder of all files. What nobody used for a month goes.
constexpr std::string_view kReceiveFile =
    "umask 077; mkdir -p \"$3\" && t=$(mktemp -d \"$3/.incoming-XXXXXX\") || exit 1; "
    "trap 'rm -rf \"$t\"' EXIT; trap 'exit 1' HUP INT TERM PIPE; "
    "find \"$3\" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} +; "
    "cat >\"$t/${1##*/}\" || exit 1; "
    "if [ \"$(sha256sum <\"$t/${1##*/}\")\" = \"$2  -\" ]; then mkdir -p \"${1%/*}\" && mv -fT "
    "\"$t/${1##*/}\" \"$1\"; else echo 'what arrived is not what was sent' >&2; exit 1; fi";

/// A name that is safe in a path and keeps its suffix, which says what the file is.
std::string name_there(const std::string& path) {
  constexpr std::size_t kMaxStem = 60;
  const std::filesystem::path name(engine::last_part_of(path));
  const std::string suffix = engine::file_name_of("x" + name.extension().string()).substr(1);
  return engine::file_name_of(name.stem().string()).substr(0, kMaxStem) + suffix;
}

}  // namespace

std::optional<std::string> path_on(std::string_view host, std::string_view path) {
  if (host.empty() || !path.starts_with(host)) return std::nullopt;
  path.remove_prefix(host.size());
  if (!path.starts_with(":/")) return std::nullopt;
  return std::string(path.substr(1));
}

engine::Result<std::string> SentFiles::place(const std::string& path, const Callbacks& callbacks) {
  if (std::optional<std::string> there = path_on(ssh_->destination(), path)) {
    names_[*there] = path;
    return *std::move(there);
  }
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) {
    return Error{ErrorCode::NotFound,
                 fmt::format("'{}' is not a file of this machine; a file of {} is named {}:/path",
                             engine::shown_path(path), ssh_->destination(), ssh_->destination())};
  }
  const std::string state = fmt::format("{} {} {} {} {}.{}", path, facts.st_dev, facts.st_ino,
                                        facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
  if (const auto known = places_.find(state); known != places_.end()) return known->second;
  ENGINE_ASSIGN(const std::string there, send(path, callbacks));
  places_[state] = there;
  names_[there] = path;
  return there;
}

engine::Result<std::string> SentFiles::send(const std::string& path, const Callbacks& callbacks) {
  ENGINE_ASSIGN(const engine::RegularFile file, engine::RegularFile::open(path));
  const std::string name = name_there(path);
  const std::string what = fmt::format("{}, {}", name, profiling::bytes_text(file.size()));
  const auto show = [&](const std::string& words, double fraction) {
    if (callbacks.progress) callbacks.progress(words, fraction);
  };
  show("Reading " + what, -1);
  ENGINE_ASSIGN(const std::string hash, engine::sha256_of(file.descriptor()));
  const std::string folder = cache_ + "/files";
  const std::string place = fmt::format("{}/{}/{}", folder, hash, name);
  const auto perform = [&](const std::string& command, ChildRun run) -> engine::Result<ChildEnd> {
    run.stop = callbacks.stop;
    return performed_on(*ssh_, command, std::move(run), fmt::format("sending {}", name));
  };
  ENGINE_ASSIGN(const ChildEnd found, perform(script_command(kFindFile, {place}), {.argv = {}}));
  if (found.output == kThere) return place;
  const auto all = static_cast<double>(std::max<std::size_t>(file.size(), 1));
  ChildRun run{.argv = {}, .input_file = file.descriptor()};
  run.sent = [&](std::uint64_t bytes) {
    show("Sending " + what, static_cast<double>(bytes) / all);
  };
  ENGINE_TRY(perform(script_command(kReceiveFile, {place, hash, folder}), std::move(run)));
  return place;
}

}  // namespace app
