// The captured graphs of a step as executables, launched one after another on one stream.
#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <vector>

#include "engine/device/handles.h"
#include "engine/linear/replay_watchdog.h"
#include "engine/model/error.h"
#include "engine/model/run_result.h"

namespace engine {

class StepReplay {
 public:
  /// In the order of their launches.
  static Result<StepReplay> create(std::span<const Graph> graphs);

  /// Enqueues one replay of the step. Must outlive it.
  Status launch(cudaStream_t stream) const;

  /// The median time of every graph, and of its launch on the host, between events around each:
  /// `replays` of the step, one at a time. `watchdog` waits for them (null = without limit).
  /// Synchronises. Fills `graphs`, one for each.
  Status time_graphs(int replays, cudaStream_t stream, ReplayWatchdog* watchdog,
                     std::span<StepGraph> graphs) const;

 private:
  std::vector<GraphExec> executables_;
};

}  // namespace engine
