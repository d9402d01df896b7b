// A command's use of a worker: the same link as the window's, waited on instead of polled.
#pragma once

#include <CLI/CLI.hpp>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/protocol/worker_link.h"
#include "engine/model/error.h"

namespace app::cli {

/// Which worker a command talks to.
struct WorkerChoice {
  std::string program;   // empty = beside this program
  std::string remote;    // ssh destination; then the program is looked up on that machine's PATH
  std::string cublaslt;  // on the worker's machine
  std::string backend;
  std::vector<std::string> wrapper = {};  // in front of a worker on this machine
  /// cuBLASLt libraries that orders may name: by this person's options, --allow-library among them.
  std::vector<std::string> allowed_libraries = {};
  struct NamedLibrary {
    std::string library;
    std::string file;  // the file that names it
  };
  /// What was read from files. A library that is not allowed and not the worker's own ends
  /// WorkerSession::start() with an error: what a file says must not decide whose code runs.
  std::vector<NamedLibrary> libraries_of_files = {};

  /// Without the library for commands that choose among several.
  void add_to(CLI::App& command, bool with_library = true);
  engine::Result<std::vector<std::string>> argv() const;
  /// `request` comes from `file`; empty = from this person's options.
  void note_library(const engine::RunRequest& request, const std::string& file);
  /// Starts a worker only to ask what it has, and only if a file names a library that is not
  /// allowed. For commands that use workers without a session.
  engine::Status check_libraries_of_files() const;
};

class WorkerSession {
 public:
  /// Starts the worker and waits for its greeting. Log lines of the worker go to stderr.
  static engine::Result<std::unique_ptr<WorkerSession>> start(const WorkerChoice& choice);

  const WorkerHello& hello() const { return hello_; }
  WorkerLink& link() { return *link_; }

  /// Waits for the event that `wanted` accepts, showing each status to `watch` (may be empty). A
  /// RunError and a lost worker end the wait as errors.
  engine::Result<LinkEvent> wait(const std::function<bool(const LinkEvent&)>& wanted,
                                 const std::function<void(const LinkStatus&)>& watch);

 private:
  WorkerSession() = default;

  WorkerHello hello_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  std::unique_ptr<WorkerLink> link_;  // last: its threads call wake until it is gone
};

}  // namespace app::cli
