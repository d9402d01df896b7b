// Overhead of tracing: the same step under each trace level, blocks of all levels interleaved.
#pragma once

#include <functional>
#include <vector>

#include "engine/device/handles.h"
#include "engine/linear/replay_watchdog.h"
#include "engine/model/measurement.h"
#include "engine/observe/step_observer.h"

namespace engine {

/// Median duration of a step under each trace level. A graph is instantiated anew for every block,
/// because CUPTI decides at instantiation what it records of its nodes; without a graph (null) the
/// step is enqueued by `launch_eager`, and levels that differ in graphs only are left out. "Off"
/// means that nothing is recorded; CUPTI stays subscribed. `watchdog` waits for replays (null =
/// they have no deadline). Leaves the trace off. Synchronises.
Result<std::vector<ObserverTiming>> measure_observer(StepObserver& observer, cudaStream_t stream,
                                                     const Graph* graph, ReplayWatchdog* watchdog,
                                                     const std::function<Status()>& launch_eager,
                                                     const std::function<bool()>& cancelled);

}  // namespace engine
