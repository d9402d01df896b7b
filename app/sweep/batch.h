// Runs that are measured one after another through one worker: which is next, the outcome of each,
// the remaining time. Holds no worker and no clock: its owner reports what happened.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/sweep/plan.h"
#include "profiling/session/run_group.h"

namespace app {

enum class BatchState {
  Running,
  Done,       // every planned run was measured, refused or failed
  Cancelled,  // ended early; what was measured stays
  Failed,     // the worker is lost, or a block of an interleaved measurement failed
};
constexpr auto enum_names(BatchState) {
  return std::to_array<std::string_view>({"running", "done", "cancelled", "failed"});
}

enum class Outcome { Waiting, Refused, Measured, Failed };

struct BatchRow {
  PlannedRun planned;
  Outcome outcome = Outcome::Waiting;
  std::string error;  // of a run that failed

  /// Why it has no numbers: "refused: shape.n is 100; ..."; empty = it was measured.
  std::string unmeasured() const;
};

struct BatchProgress {
  int total = 0;  // without refused ones
  int measured = 0;
  int failed = 0;
  int refused = 0;
  double fraction = 0.0;            // 0..1, including the current run
  double remaining_seconds = -1.0;  // -1 = not known before the first run has ended
  std::string label;                // of the current run; empty at the end
  std::size_t row = 0;              // of the current run, in the plan
};

class Batch {
 public:
  /// `id` is the Unix time in ms; an empty plan, or one with every run refused, is Done.
  Batch(profiling::GroupKind kind, std::int64_t id, std::vector<PlannedRun> plan);

  /// The run to submit now; null if there is none.
  const engine::RunRequest* next() const;
  /// It was submitted (again, if another order came in between) at `seconds` of a steady clock.
  void started(double seconds);
  /// The current run has a result: returns the tag to store it under and advances to the next.
  profiling::RunGroup measured(double seconds);
  /// The current run failed. A sweep continues; an interleaved measurement cannot.
  void failed(const std::string& why);
  void cancel();
  /// The worker is lost.
  void lost(const std::string& why);

  BatchState state() const { return state_; }
  profiling::GroupKind kind() const { return kind_; }
  std::int64_t id() const { return id_; }
  const std::vector<BatchRow>& rows() const { return rows_; }
  /// Why the state is Failed.
  const std::string& error() const { return error_; }
  /// `run_fraction`: progress of the current run, 0..1.
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
