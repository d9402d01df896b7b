// The captured graphs of a step as executables, launched one after another on one stream.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <span>
#include <vector>

#include "engine/device/handles.h"
#include "engine/linear/replay_watchdog.h"
#include "engine/model/error.h"
#include "engine/model/run_result.h"

namespace engine {

class StepReplay {
 public:
  /// Graphs in the order of their launches.
  static Result<StepReplay> create(std::span<const Graph> graphs);

  /// Enqueues one replay of the step, which this object must outlive.
  Status launch(cudaStream_t stream) const;

  /// The median time of every graph, and of its launch on the host, between events around each, in
  /// `replays` of the step. Each follows an untimed one, which the device runs while the host
  /// launches it. `watchdog` waits for them (null = without limit). Synchronises. Fills `facts`,
  /// one for each graph; ends early once `cancelled` says so.
  Status time_graphs(int replays, cudaStream_t stream, ReplayWatchdog* watchdog,
                     const std::function<bool()>& cancelled, std::span<StepGraph> facts) const;

 private:
  std::vector<GraphExec> executables_;
};

}  // namespace engine
