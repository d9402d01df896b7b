// A command's use of a worker: the same link as the window's, blocking instead of polled.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/cli/remote_machine.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/protocol/waiting_link.h"
#include "app/protocol/worker_command.h"
#include "engine/model/error.h"
#include "profiling/compare/sweep_points.h"

namespace app::cli {

/// Which worker a command uses, and how long it waits for one that shows no progress.
struct WorkerChoice {
  WorkerCommand command;
  /// Of --remote. Unless --worker names a program there, the machine is reached, and the worker
  /// sent, when it is first needed. Copies of this choice share the connection.
  std::shared_ptr<RemoteMachine> machine = {};
  std::optional<double> timeout_seconds = {};  // 0 = forever; nullopt = the default in the help
  /// cuBLASLt libraries that orders may name: those of the user's options, including
  /// --allow-library.
  std::vector<std::string> allowed_libraries = {};
  struct NamedLibrary {
    std::string library;
    std::string file;  // the file that names it
  };
  /// What was read from files. A library that is not allowed and not the worker's own makes
  /// WorkerSession::start() fail: a file must not decide whose code runs.
  std::vector<NamedLibrary> libraries_of_files = {};

  bool sends_worker() const {
    return command.remote && command.program.empty() && machine != nullptr;
  }
  /// Input files of this machine are sent to the worker's, and named by their places there.
  engine::Status send_files(Task& task) const {
    return sends_worker() ? machine->send_files(task) : engine::Status();
  }
  /// The command of the worker, once its machine is reached.
  engine::Result<WorkerCommand> reached() const {
    return sends_worker() ? machine->reached(command) : engine::Result<WorkerCommand>(command);
  }
  /// How the machine is named: --remote HOST, or HOST by itself.
  enum class HostIs { Option, Positional };
  void add_machine_to(CLI::App& app, HostIs host);

  enum class Waits { ForWorker, InWindow };
  /// Without the library for commands that choose among several; without the timeout for the
  /// window, which never waits. Keeps a reference to this object.
  void add_to(CLI::App& app, bool with_library = true, Waits waits = Waits::ForWorker);
  /// Which files are of this machine: all, unless the path is "HOST:/path", or the worker is a
  /// program of another machine that nothing is sent to.
  RequestOptions::IsHere is_here() const;
  /// `request` comes from `file`; empty = from the user's options.
  void note_library(const engine::RunRequest& request, const std::string& file);
  /// Starts a worker only to query its libraries, and only if a file names one that is not allowed.
  /// For commands that use workers without a session.
  engine::Status check_libraries_of_files() const;
};

/// Prints to stderr, on a line of its own.
void report_wait(const std::string& word);

class WorkerSession {
 public:
  /// Starts the worker and waits for its greeting. Log lines of the worker go to stderr, and so
  /// does what is being waited for once it takes 2 s.
  static engine::Result<std::unique_ptr<WorkerSession>> start(const WorkerChoice& choice);

  const WorkerHello& hello() const { return hello_; }
  WorkerLink& link() { return link_.link(); }

  /// Waits for the event that `wanted` accepts, passing each status to `watch` (may be empty). A
  /// RunError, a lost worker and one that shows no sign of progress for the choice's timeout end
  /// the wait as errors.
  engine::Result<LinkEvent> wait(const std::function<bool(const LinkEvent&)>& wanted,
                                 const std::function<void(const LinkStatus&)>& watch);
  /// Progress of all its orders: many short orders are a long wait as well. Code that shows it
  /// erases it.
  ProgressBar& progress() { return progress_; }

  /// Sends the input files that the order names, then the order.
  engine::Status submit(Task order);
  /// What was measured names input files as the order did.
  void name_files_as_here(LinkEvent& event) const;

  /// Says on stderr how long the run will take, if that is long, and how it becomes shorter. Until
  /// the next call, a step's time without progress is not reported. `measured`: runs of this
  /// worker.
  void announce(const engine::RunRequest& request, const profiling::RunList& measured = {});

  /// Sends the order and waits, with its progress on stderr.
  engine::Result<LinkEvent> perform(Task order,
                                    const std::function<bool(const LinkEvent&)>& wanted);
  /// Until it is done.
  template <class Done>
  engine::Result<Done> perform(Task order) {
    ENGINE_ASSIGN(LinkEvent done, perform(std::move(order), [](const LinkEvent& event) {
                    return std::holds_alternative<Done>(event);
                  }));
    return std::get<Done>(std::move(done));
  }

 private:
  WorkerSession(std::vector<std::string> argv, const WorkerChoice& choice);

  WorkerHello hello_;
  std::shared_ptr<RemoteMachine> machine_;  // null = files are not sent
  const double limit_seconds_;
  double quiet_seconds_ = 0.0;      // a step of the present run may take so long; 0 = as usual
  std::uint64_t dropped_logs_ = 0;  // already reported
  ProgressBar progress_;
  WaitingLink link_;
};

}  // namespace app::cli
