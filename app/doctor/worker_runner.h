// Runs each experiment in a separate worker: started for it, killed and reaped after it, whatever
// the outcome. Each runner runs one experiment at a time.
#pragma once

#include <functional>
#include <string>

#include "app/doctor/visit.h"
#include "app/protocol/worker_command.h"

namespace app {

class WorkerRunner final : public ExperimentRunner {
 public:
  struct Options {
    WorkerCommand worker = {};
    /// cuBLASLt libraries that the request may name (WorkerLink::allow_libraries).
    std::vector<std::string> allowed_libraries = {};
    /// Not empty: a hanging device leaves its core dump there. Workers on this machine only.
    std::string core_dump_folder = {};
    double start_seconds = 30;   // until the worker greets
    double setup_seconds = 120;  // without progress, before the first replay and after the last:
                                 // inputs, eager launches, capture
    double replay_seconds = 30;  // per replay, if the experiment does not set it
    double grace_seconds = 5;    // beyond a replay's deadline, for the worker to report it itself
    /// Reports what it waits for after 2 s without progress before the first replay; may be empty.
    std::function<void(const std::string&)> report_wait = {};
  };
  explicit WorkerRunner(Options options) : options_(std::move(options)) {}

  /// Hung if the worker reports it, or does not answer in time; Crashed if it dies after it has
  /// greeted, or names a device error.
  engine::Result<Reply> run(const DoctorSubject& subject, const profiling::Experiment& experiment,
                            const Watch& watch, const std::atomic<bool>& cancel) override;

 private:
  Options options_;
  int core_dumps_ = 0;  // requested so far: names must differ
};

}  // namespace app
