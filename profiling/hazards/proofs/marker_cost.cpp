#include "profiling/hazards/proofs/marker_cost.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/model/measurement.h"

namespace profiling {
namespace {

constexpr int kMarkerPairs = 16;       // compared replays with and without markers
constexpr int kFewestMarkerPairs = 4;  // for a step too long for all of them
constexpr double kMarkerSeconds = 1;

}  // namespace

bool measures_markers(const Experiment& experiment) {
  return experiment.markers && experiment.is_plain();
}

engine::Graph copy_of(const CapturedGraph& captured) {
  cudaGraph_t raw = nullptr;
  if (cudaGraphClone(&raw, captured.graph.get()) != cudaSuccess) {
    (void)cudaGetLastError();
    raw = nullptr;
  }
  return engine::Graph(raw);
}

engine::Status measure_marker_cost(ExperimentState& state, ExperimentCaptures& captures,
                                   ReplayLauncher& launcher) {
  if (!measures_markers(state.experiment) || first_wrong_replay(state.reply.outcome) > 0) return {};
  for (CapturedGraph& captured : captures.graphs()) {
    if (captured.unmarked.get() == nullptr) return {};
    engine::Result<engine::GraphExec> made = engine::instantiate(captured.unmarked);
    if (!made.ok()) return {};
    captured.unmarked_executable = std::move(made).value();
  }
  std::vector<double> with;
  std::vector<double> without;
  const auto start = std::chrono::steady_clock::now();
  // The first pair warms up the graph without markers, which has never run.
  for (int pair = 0; pair <= kMarkerPairs; ++pair) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (pair > kFewestMarkerPairs && taken.count() > kMarkerSeconds) break;
    for (const bool marked : {pair % 2 == 0, pair % 2 != 0}) {
      double microseconds = 0;
      if (marked) {
        ENGINE_TRY(launcher.launch_graphs(captures, state.experiment.replays, &microseconds));
      } else {
        ENGINE_TRY(launcher.launch_unmarked(captures, microseconds));
      }
      if (pair > 0) (marked ? with : without).push_back(microseconds);
    }
  }
  std::ranges::sort(with);
  std::ranges::sort(without);
  state.reply.outcome.marker_cost = {.samples = static_cast<int>(with.size()),
                                     .with_us = engine::quantile(with, 0.5),
                                     .without_us = engine::quantile(without, 0.5)};
  return {};
}

}  // namespace profiling
