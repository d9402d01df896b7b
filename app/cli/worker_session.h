// A command's use of a worker: the same link as the window's, waited on instead of polled.
#pragma once

#include <CLI/CLI.hpp>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/protocol/worker_command.h"
#include "app/protocol/worker_link.h"
#include "engine/model/error.h"

namespace app::cli {

/// Which worker a command talks to, and how long it waits for one that does nothing.
struct WorkerChoice {
  WorkerCommand command;
  std::optional<double> timeout_seconds = {};  // 0 = for ever; nullopt = as the help says
  /// cuBLASLt libraries that orders may name: by this person's options, --allow-library among them.
  std::vector<std::string> allowed_libraries = {};
  struct NamedLibrary {
    std::string library;
    std::string file;  // the file that names it
  };
  /// What was read from files. A library that is not allowed and not the worker's own ends
  /// WorkerSession::start() with an error: what a file says must not decide whose code runs.
  std::vector<NamedLibrary> libraries_of_files = {};

  enum class Waits { ForWorker, InWindow };
  /// Without the library for commands that choose among several; without the timeout for the
  /// window, which waits for nobody. Keeps a reference to this object.
  void add_to(CLI::App& app, bool with_library = true, Waits waits = Waits::ForWorker);
  /// `request` comes from `file`; empty = from this person's options.
  void note_library(const engine::RunRequest& request, const std::string& file);
  /// Starts a worker only to ask what it has, and only if a file names a library that is not
  /// allowed. For commands that use workers without a session.
  engine::Status check_libraries_of_files() const;
};

/// To stderr, in a line of its own.
void say_waiting(const std::string& word);

class WorkerSession {
 public:
  /// Starts the worker and waits for its greeting. Log lines of the worker go to stderr, and what
  /// is waited for once it takes 2 s.
  static engine::Result<std::unique_ptr<WorkerSession>> start(const WorkerChoice& choice);

  const WorkerHello& hello() const { return hello_; }
  WorkerLink& link() { return *link_; }

  /// Waits for the event that `wanted` accepts, showing each status to `watch` (may be empty). A
  /// RunError, a lost worker and one that shows no sign of progress for the choice's timeout end
  /// the wait as errors.
  engine::Result<LinkEvent> wait(const std::function<bool(const LinkEvent&)>& wanted,
                                 const std::function<void(const LinkStatus&)>& watch);

 private:
  WorkerSession() = default;

  WorkerHello hello_;
  double limit_seconds_ = 0;
  std::uint64_t dropped_logs_ = 0;  // that were told of
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  std::unique_ptr<WorkerLink> link_;  // last: its threads call wake until it is gone
};

}  // namespace app::cli
