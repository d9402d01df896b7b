// Runs that are measured one after another through one worker: what comes next, what came of each,
// how long it will take. Holds no worker and no clock: whoever owns them tells what happened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/sweep/planned_run.h"
#include "profiling/session/run_group.h"

namespace app {

enum class BatchState {
  Running,
  Done,       // every planned run was measured, refused or failed
  Cancelled,  // ended before; what was measured stays
  Failed,     // the worker is lost, or a block of an interleaved measurement failed
};

enum class Outcome { Waiting, Refused, Measured, Failed };

struct BatchRow {
  PlannedRun planned;
  Outcome outcome = Outcome::Waiting;
  std::string error;  // of a run that failed
};

struct BatchProgress {
  int total = 0;  // without those refused
  int measured = 0;
  int failed = 0;
  int refused = 0;
  double fraction = 0.0;            // 0..1, the run under way counted in
  double remaining_seconds = -1.0;  // -1 = not known before the first run has ended
  std::string label;                // of the run under way; empty at the end
};

class Batch {
 public:
  /// `id` is the Unix time in ms; an empty plan, or one that is refused throughout, is Done.
  Batch(profiling::GroupKind kind, std::int64_t id, std::vector<PlannedRun> plan);

  /// The run to submit now; null when there is none.
  const engine::RunRequest* next() const;
  /// It was submitted (again, where another order came between) at `seconds` of a steady clock.
  void started(double seconds);
  /// The present run has its result: the tag to keep it under. The next one is up.
  profiling::RunGroup measured(double seconds);
  /// The present run came to nothing. A sweep goes on; an interleaved measurement cannot.
  void failed(const std::string& why);
  void cancel();
  /// The worker is gone.
  void lost(const std::string& why);

  BatchState state() const { return state_; }
  profiling::GroupKind kind() const { return kind_; }
  std::int64_t id() const { return id_; }
  const std::vector<BatchRow>& rows() const { return rows_; }
  /// Why the state is Failed.
  const std::string& error() const { return error_; }
  /// `run_fraction`: how far the run under way is, 0..1.
  BatchProgress progress(double seconds, double run_fraction) const;

 private:
  void advance();

  profiling::GroupKind kind_;
  std::int64_t id_;
  std::vector<BatchRow> rows_;
  std::size_t at_ = 0;
  int position_ = 0;  // of the next measured run
  BatchState state_ = BatchState::Running;
  std::string error_;
  double started_seconds_ = 0.0;
  double spent_seconds_ = 0.0;  // on measured runs
};

}  // namespace app
