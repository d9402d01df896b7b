// Waits for graph replays with a deadline, and reports the first that misses it.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/model/replay_deadline.h"
#include "engine/model/run_result.h"
#include "engine/observe/replay_watch.h"

namespace engine {

class ReplayWatchdog {
 public:
  /// `watch` must outlive it. `markers`: the result of captured() for the graph.
  ReplayWatchdog(double deadline_factor, int markers, ReplayWatch& watch)
      : deadline_(deadline_factor), markers_(markers), watch_(watch) {}

  /// Markers of two concurrent replays could not be distinguished.
  bool one_at_a_time() const { return markers_ > 0; }
  /// Called before a launch if replays run one at a time.
  void begins() { watch_.replay_begins(deadline_.replays() + 1); }
  /// Around the launch call of one replay, which has the deadline of a replay.
  template <class Call>
  Status launch(Call&& call) {
    const LaunchScope scope(watch_, {.graph = true,
                                     .number = ++launched_,
                                     .deadline_seconds = deadline_.seconds(),
                                     .p99_seconds = deadline_.p99_seconds()});
    return call();
  }
  /// For the oldest replay that has not been waited for, which ends with `event`. An error when it
  /// is late.
  Status wait(cudaEvent_t event);
  /// Duration of that replay.
  void finished(double seconds) { deadline_.add(seconds); }
  ReplayWatchFacts facts() const;

 private:
  ReplayDeadline deadline_;
  int markers_;
  int launched_ = 0;
  ReplayWatch& watch_;
};

}  // namespace engine
