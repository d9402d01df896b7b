// A visit to the graph doctor: takes a snapshot, runs the rules and, if asked, runs the experiments
// that prove or disprove the findings. Blocks, so the window calls it on a separate thread. An
// ordinary run that stalled is presented as a visit.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "app/protocol/orders.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"
#include "profiling/hazards/model/doctor_report.h"
#include "profiling/hazards/rules/diagnosis.h"

namespace app {

/// What is examined: a request's step, or a case of the hazard gallery.
struct DoctorSubject {
  engine::RunRequest request;
  std::string gallery_case;  // empty = the request
  bool healthy = false;      // the case's healthy twin
};

/// Runs one experiment in its own process. The process ends with it, whatever the outcome.
class ExperimentRunner {
 public:
  struct Reply {
    profiling::Snapshot snapshot;  // as captured for this experiment; no graphs = no capture
    profiling::Outcome outcome;
  };
  /// Called with the marker board while a replay is in progress: one entry per node of the graph.
  using Watch = std::function<void(int replay, const std::vector<profiling::NodeState>& board)>;

  virtual ~ExperimentRunner() = default;
  /// An error only for what is not an outcome: the worker cannot be started, or the request is
  /// wrong. Cancelled when `cancel` was seen.
  virtual engine::Result<Reply> run(const DoctorSubject& subject,
                                    const profiling::Experiment& experiment, const Watch& watch,
                                    const std::atomic<bool>& cancel) = 0;
};

struct VisitProgress {
  std::string doing;    // "eager, three times", "isolating matmul 2 of 3", ...
  int experiment = 0;   // 1-based number of the current one
  int experiments = 0;  // as far as is known now; may grow
  int replay = 0;
  std::vector<profiling::NodeState> board;
  profiling::DoctorReport so_far;
};

struct VisitOptions {
  bool prove = false;              // false: snapshot and rules only
  std::vector<std::string> rules;  // prove findings of these rules only; empty = all
  double deadline_seconds = 0;     // per replay; 0 = from the times of eager launches
  bool markers = true;             // a marker board in every replay
  /// The rules; empty = profiling::diagnose.
  std::function<std::vector<profiling::Finding>(const profiling::Snapshot&,
                                                const std::vector<profiling::LibraryFact>&)>
      diagnose;
};

/// Errors: the subject could not be captured or launched at all (the message says why), or
/// Cancelled.
engine::Result<profiling::DoctorReport> visit(
    const DoctorSubject& subject, const VisitOptions& options,
    const std::vector<profiling::LibraryFact>& facts, ExperimentRunner& runner,
    const std::function<void(const VisitProgress&)>& progress, const std::atomic<bool>& cancel);

/// An ordinary run that stalled: its graph, the rules' findings, and the run as the only
/// experiment.
profiling::DoctorReport report_of_stall(const engine::RunRequest& request, const DoctorDone& seen,
                                        const std::vector<profiling::LibraryFact>& facts);

}  // namespace app
