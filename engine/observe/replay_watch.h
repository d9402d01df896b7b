// Watches the launches of a run: adds markers to its graph and diagnoses a replay or launch call
// that does not end. Implemented in profiling/, which has markers and triage.
#pragma once

#include "engine/model/error.h"
#include "engine/observe/graph_capture.h"

namespace engine {

/// A replay that missed its deadline.
struct LateReplay {
  int replay = 0;  // 1-based, of all replays of the run
  double deadline_seconds = 0.0;
  double p99_seconds = 0.0;  // of the previous replays; 0 = none
};

/// A call that hands work to the device, before it is made.
struct Launching {
  bool graph = true;  // cudaGraphLaunch; false: the kernels of an eager step, one after another
  int number = 0;     // 1-based, of all replays of the run, or of its eager steps
  double deadline_seconds = 0.0;  // for the call itself; infinite = none
  double p99_seconds = 0.0;       // of the previous replays; 0 = none
};

/// All calls come from the engine thread.
class ReplayWatch {
 public:
  virtual ~ReplayWatch() = default;
  /// Called with each graph of the step before it is instantiated. Returns how many markers were
  /// added to it; with markers, its replays run one at a time. Only a step of one graph has
  /// markers.
  virtual Result<int> captured(const GraphCapture& capture) = 0;
  /// Called before each launch of a graph with markers, while none of its launches is in progress.
  virtual void replay_begins(int replay) = 0;
  /// Around every launch. A call that never returns is seen by another thread.
  virtual void launch_begins(const Launching& launch) = 0;
  virtual void launch_ends() = 0;
  /// The device may never finish, so this need not return. If it does, the run waits for the replay
  /// and ends with an error.
  virtual void stalled(const LateReplay& late) = 0;
};

/// The launch of this scope.
class LaunchScope {
 public:
  LaunchScope(ReplayWatch& watch, const Launching& launch) : watch_(watch) {
    watch_.launch_begins(launch);
  }
  ~LaunchScope() { watch_.launch_ends(); }
  LaunchScope(const LaunchScope&) = delete;
  LaunchScope& operator=(const LaunchScope&) = delete;

 private:
  ReplayWatch& watch_;
};

}  // namespace engine
