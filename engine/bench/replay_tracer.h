// What a kernel recorder reports to the benchmark of the linear step; implemented above the engine,
// where records are.
#pragma once

#include <vector>

#include "engine/observe/step_observer.h"

namespace engine {

struct TracedReplay {
  int iteration = 0;
  double kernels_us = 0;  // sum of the times of its kernels, copies and memsets
  double replay_us = 0;   // from the start of the first to the end of the last
};

class ReplayTracer {
 public:
  virtual ~ReplayTracer() = default;
  /// Notified of a run, like the observer of a backend.
  virtual StepObserver& observer() = 0;
  /// Of the run that ended last, by iteration; empty if nothing was recorded.
  virtual std::vector<TracedReplay> take() = 0;
};

}  // namespace engine
