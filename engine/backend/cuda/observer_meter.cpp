#include "engine/backend/cuda/observer_meter.h"

#include <array>

#include "engine/linear/iteration_clock.h"
#include "engine/linear/timing_summary.h"

namespace engine {
namespace {

constexpr int kBlocks = 9;
constexpr int kWarmUpLaunches = 2;
constexpr int kLaunchesABlock = 10;

struct Level {
  TraceLevel level;
  std::vector<double> durations_ns;
};

Status run_block(Level& level, StepObserver& observer, cudaStream_t stream, const Graph* graph,
                 ReplayWatchdog* watchdog, const std::function<Status()>& launch_eager) {
  observer.set_trace(level.level);
  GraphExec exec;
  if (graph != nullptr) {
    Result<GraphExec> made = instantiate(*graph);
    if (!made.ok()) return made.error();
    exec = std::move(made).value();
  }
  const auto launch = [&]() -> Status {
    if (graph == nullptr) return launch_eager();
    const auto call = [&] {
      return check_cuda(cudaGraphLaunch(exec.get(), stream), "Launching the graph");
    };
    return watchdog == nullptr ? call() : watchdog->launch(call);
  };
  Result<IterationClock> made = IterationClock::create(watchdog);
  if (!made.ok()) return made.error();
  IterationClock& clock = made.value();
  Status status;
  for (int i = 0; i < kWarmUpLaunches + kLaunchesABlock && status.ok(); ++i) {
    ENGINE_TRY(clock.begin(stream));
    status = launch();
    ENGINE_TRY(clock.end(stream));
  }
  ENGINE_TRY(clock.finish());
  // The executable graph must outlive its launches, also when one was refused.
  ENGINE_CUDA_TRY(cudaStreamSynchronize(stream), "Waiting for the watched replays");
  ENGINE_TRY(status);
  std::vector<Iteration> iterations = clock.take();
  iterations.erase(iterations.begin(), iterations.begin() + kWarmUpLaunches);
  for (const Iteration& iteration : iterations) {
    level.durations_ns.push_back(static_cast<double>(iteration.duration_ns));
  }
  return {};
}

}  // namespace

Result<std::vector<ObserverTiming>> measure_observer(StepObserver& observer, cudaStream_t stream,
                                                     const Graph* graph, ReplayWatchdog* watchdog,
                                                     const std::function<Status()>& launch_eager,
                                                     const std::function<bool()>& cancelled) {
  std::vector<Level> levels = {{TraceLevel::Off, {}}, {TraceLevel::Nodes, {}}};
  if (graph != nullptr) levels.push_back({TraceLevel::Graphs, {}});
  Status status;
  for (int block = 0; block < kBlocks && status.ok(); ++block) {
    if (cancelled()) status = Error{ErrorCode::Cancelled, "The run was cancelled"};
    for (std::size_t turn = 0; turn < levels.size() && status.ok(); ++turn) {
      // Every level is first, second and last equally often.
      Level& level = levels[(turn + static_cast<std::size_t>(block)) % levels.size()];
      status = run_block(level, observer, stream, graph, watchdog, launch_eager);
    }
  }
  observer.set_trace(TraceLevel::Off);
  ENGINE_TRY(status);
  std::vector<ObserverTiming> timings;
  for (Level& level : levels) {
    ObserverTiming& timing = timings.emplace_back();
    timing.level = level.level;
    summarize_into(timing, std::move(level.durations_ns));
  }
  return timings;
}

}  // namespace engine
