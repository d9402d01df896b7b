// What is measured on a step besides its iterations: the device's ceilings, the time of every
// expert alone, and the overhead of tracing. All of them synchronise. (Stamps: stamped_launches.h.)
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "engine/device/handles.h"
#include "engine/linear/grouped_step.h"
#include "engine/linear/replay_watchdog.h"
#include "engine/model/measurement.h"
#include "engine/observe/step_observer.h"

namespace engine {

/// Fills samples, median, p5 and p95 of a timing; linear interpolation between order statistics.
/// Leaves a timing without durations as it is.
template <class Timing>
void summarize_into(Timing& timing, std::vector<double> durations_ns) {
  if (durations_ns.empty()) return;
  std::ranges::sort(durations_ns);
  timing.samples = static_cast<int>(durations_ns.size());
  timing.median_ns = quantile(durations_ns, 0.5);
  timing.p5_ns = quantile(durations_ns, 0.05);
  timing.p95_ns = quantile(durations_ns, 0.95);
}

/// A device-to-device copy as large as memory comfortably allows, and one dense cuBLASLt product
/// with the M (all tokens), N, K and recipe of the step, on its X and its first expert's W. What
/// could not be measured has no samples; `product` then says why. Synchronises.
Result<Ceilings> measure_ceilings(const GroupedStep& step, cudaStream_t stream);

/// The time of every expert alone on the device: X's quantization and the products of layer 0 with
/// rows for one expert only. A grouped launch then runs with the splits of all others at 0; a
/// backend with one launch per expert runs that one. An expert has all SMs to itself, so the sum
/// over the experts does not predict the launch for all. Experts without rows have no timing.
/// Synchronises, overwrites outputs and quantized operands; leaves the splits as they were.
/// `cancelled` is asked between experts.
Result<std::vector<ExpertTiming>> time_isolated_experts(GroupedStep& step,
                                                        std::span<const std::int64_t> splits,
                                                        cudaStream_t stream,
                                                        const std::function<bool()>& cancelled);

/// Overhead of tracing: the median duration of a step under each trace level, blocks of all levels
/// interleaved. A graph is instantiated anew for every block,
/// because CUPTI decides at instantiation what it records of its nodes; without `graphs` the
/// step is enqueued by `launch_eager`, and levels that differ in graphs only are left out. "Off"
/// means that nothing is recorded; CUPTI stays subscribed. `watchdog` waits for replays (null =
/// they have no deadline). Leaves the trace off. Synchronises.
Result<std::vector<ObserverTiming>> measure_observer(StepObserver& observer, cudaStream_t stream,
                                                     std::span<const Graph> graphs,
                                                     ReplayWatchdog* watchdog,
                                                     const std::function<Status()>& launch_eager,
                                                     const std::function<bool()>& cancelled);

}  // namespace engine
