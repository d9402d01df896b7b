#include "app/attach/attached_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <thread>
#include <utility>

#include "app/protocol/paths.h"
#include "profiling/attach/spool/environment.h"

namespace app {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kKept{24 * 7};

/// This process's environment with the preload, the variables that the library reads, and those
/// that were asked for.
std::vector<std::string> environment_of(const AttachOptions& options, const std::string& library) {
  const auto variable = [](std::string_view name, const std::string& value) {
    return fmt::format("{}={}", name, value);
  };
  const auto name_of = [](std::string_view one) { return one.substr(0, one.find('=')); };
  std::vector<std::string> own = options.environment;
  own.push_back(variable(profiling::spool::kFolderVariable, options.folder));
  own.push_back(variable(profiling::spool::kOnlyVariable, options.only));
  own.push_back(
      variable(profiling::spool::kRankVariable, options.rank ? std::to_string(*options.rank) : ""));
  own.push_back(variable(profiling::spool::kCompareVariable, options.compare_memory ? "1" : ""));
  own.push_back(variable(profiling::spool::kMarkersVariable, options.markers ? "1" : ""));
  own.push_back(variable(profiling::spool::kLimitVariable,
                         options.spool_bytes == 0 ? "" : std::to_string(options.spool_bytes)));
  std::string preload = library;
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view one(*entry);
    const std::string_view name = name_of(one);
    if (name == "LD_PRELOAD") {
      preload += ':';
      preload += one.substr(std::min(name.size() + 1, one.size()));
      continue;
    }
    const bool replaced =
        std::ranges::any_of(own, [&](const std::string& mine) { return name_of(mine) == name; });
    if (!replaced) environment.emplace_back(one);
  }
  environment.push_back(variable("LD_PRELOAD", preload));
  environment.insert(environment.end(), own.begin(), own.end());
  return environment;
}

std::vector<char*> pointers_of(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Spools of programs that ended long ago.
void forget_former(const fs::path& folder) {
  std::error_code error;
  const auto limit = fs::file_time_type::clock::now() - kKept;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (fs::last_write_time(entry.path(), error) < limit && !error)
      fs::remove_all(entry.path(), error);
  }
}

}  // namespace

engine::Result<std::string> attach_library() {
  const std::string path =
      fs::path(executable_folder() + "/../lib/expertscope/libexpertscope-attach.so")
          .lexically_normal()
          .string();
  if (::access(path.c_str(), R_OK) == 0) {
    // The dynamic linker splits the list of preloads at both.
    if (path.find_first_of(": ") == std::string::npos) return path;
    return engine::Error{
        engine::ErrorCode::Unsupported,
        fmt::format("{} cannot be preloaded: its path contains a blank or a colon. Install "
                    "expertscope in a folder without them",
                    path)};
  }
  return engine::Error{
      engine::ErrorCode::NotFound,
      fmt::format(
          "{} is missing: only builds with CUDA have it. Recorded programs can still be "
          "examined here (expertscope attach --read FOLDER), and programs of another machine "
          "watched (--remote HOST)",
          path)};
}

engine::Result<std::string> new_spool_folder() {
  const std::string cache = user_cache_folder();
  if (cache.empty()) {
    return engine::Error{
        engine::ErrorCode::NotFound,
        "there is no home folder for the record of the program; name one with --folder"};
  }
  const fs::path all = fs::path(cache) / "attach";
  std::error_code error;
  fs::create_directories(all, error);
  forget_former(all);
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d-%H%M%S", &local);
  const std::string name = fmt::format("{}-{}", date, ::getpid());
  fs::path folder = all / name;
  // The window may start several programs within a second.
  for (int i = 2; ::mkdir(folder.c_str(), 0700) != 0; ++i) {
    if (errno != EEXIST) {
      return engine::Error{
          engine::ErrorCode::Io,
          fmt::format("{} cannot be created: {}", folder.string(), std::strerror(errno))};
    }
    folder = all / fmt::format("{}-{}", name, i);
  }
  return folder.string();
}

engine::Result<AttachedProgram> AttachedProgram::start(const AttachOptions& options) {
  std::string library = options.library;
  if (library.empty()) {
    ENGINE_ASSIGN(library, attach_library());
  }
  const bool piped = options.output_descriptor >= 0;
  const bool background = piped || !options.output_file.empty();
  std::error_code error;
  // Otherwise the program would seem to be what is missing.
  if (!options.working_folder.empty() && !fs::is_directory(options.working_folder, error)) {
    return engine::Error{
        engine::ErrorCode::NotFound,
        fmt::format("The working folder {} does not exist", options.working_folder)};
  }
  std::vector<std::string> arguments = options.command;
  std::vector<std::string> variables = environment_of(options, library);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (options.output_to_stderr)
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  if (background)
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (piped) {
    posix_spawn_file_actions_adddup2(&actions, options.output_descriptor, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, options.errors_descriptor, STDERR_FILENO);
  } else if (background) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, options.output_file.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  }
  if (!options.working_folder.empty())
    posix_spawn_file_actions_addchdir_np(&actions, options.working_folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGPIPE, SIGTERM}) sigaddset(&defaults, signal);
  // Its agent ignores this one, which then tells it that nobody watches any more.
  if (piped) sigaddset(&defaults, SIGHUP);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGDEF |
                                                           (background ? POSIX_SPAWN_SETSID : 0)));
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, arguments.front().c_str(), &actions, &attributes,
                                    pointers_of(arguments).data(), pointers_of(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    return engine::Error{
        engine::ErrorCode::NotFound,
        fmt::format("'{}' cannot be started: {}", arguments.front(), std::strerror(failed))};
  }
  return AttachedProgram(pid, background);
}

std::optional<std::string> AttachedProgram::ended() {
  if (end_) return end_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  end_ = WIFSIGNALED(status) ? fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                                           ::strsignal(WTERMSIG(status)))
                             : fmt::format("ended with exit code {}", WEXITSTATUS(status));
  return end_;
}

void AttachedProgram::send(int signal) {
  if (end_) return;
  ::kill(group_ ? -pid_ : pid_, signal);
}

void AttachedProgram::end(bool at_once) { send(at_once ? SIGKILL : SIGTERM); }

void AttachedProgram::interrupt() { send(SIGINT); }

}  // namespace app
