#include "engine/linear/step_replay.h"

#include <cmath>
#include <utility>

#include "engine/linear/iteration_clock.h"
#include "engine/model/clock.h"
#include "engine/model/measurement.h"

namespace engine {

Result<StepReplay> StepReplay::create(std::span<const Graph> graphs) {
  StepReplay made;
  for (const Graph& graph : graphs) {
    ENGINE_ASSIGN(GraphExec executable, instantiate(graph));
    made.executables_.push_back(std::move(executable));
  }
  return made;
}

Status StepReplay::launch(cudaStream_t stream) const {
  for (const GraphExec& executable : executables_) {
    ENGINE_CUDA_TRY(cudaGraphLaunch(executable.get(), stream), "Launching the graph");
  }
  return {};
}

Status StepReplay::time_graphs(int replays, cudaStream_t stream, ReplayWatchdog* watchdog,
                               const std::function<bool()>& cancelled,
                               std::span<StepGraph> facts) const {
  const std::size_t count = executables_.size();
  std::vector<Event> edges;  // before every graph, and behind the last
  for (std::size_t i = 0; i <= count; ++i) {
    ENGINE_ASSIGN(Event edge, make_timing_event());
    edges.push_back(std::move(edge));
  }
  std::vector<std::vector<double>> device_ns(count);
  std::vector<std::vector<double>> host_ns(count);
  const auto launch_untimed = [&] { return launch(stream); };
  const auto launch_timed = [&]() -> Status {
    ENGINE_CUDA_TRY(cudaEventRecord(edges.front().get(), stream), "Timing a graph");
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t begun = steady_ns();
      ENGINE_CUDA_TRY(cudaGraphLaunch(executables_[i].get(), stream), "Launching the graph");
      host_ns[i].push_back(static_cast<double>(steady_ns() - begun));
      ENGINE_CUDA_TRY(cudaEventRecord(edges[i + 1].get(), stream), "Timing a graph");
    }
    return {};
  };
  ENGINE_ASSIGN(IterationClock clock, IterationClock::create(watchdog));
  // A clocked iteration is one replay: the watchdog's deadline follows from how long those take.
  const auto clocked = [&](const auto& replay) -> Status {
    ENGINE_TRY(clock.begin(stream));
    ENGINE_TRY(watchdog == nullptr ? replay() : watchdog->launch(replay));
    return clock.end(stream);
  };
  int timed = 0;
  for (; timed < replays && !cancelled(); ++timed) {
    ENGINE_TRY(clocked(launch_untimed));
    ENGINE_TRY(clocked(launch_timed));
    ENGINE_TRY(clock.finish());
    for (std::size_t i = 0; i < count; ++i) {
      ENGINE_ASSIGN(const double elapsed, elapsed_ns(edges[i], edges[i + 1]));
      device_ns[i].push_back(elapsed);
    }
  }
  for (std::size_t i = 0; i < count && timed > 0; ++i) {
    facts[i].samples = timed;
    facts[i].median_us = quantile_of(std::move(device_ns[i]), 0.5) / 1000.0;
    facts[i].contents.host_launch_ns = std::llround(quantile_of(std::move(host_ns[i]), 0.5));
  }
  return {};
}

}  // namespace engine
