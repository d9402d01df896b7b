// Launches of one experiment, eager and as graphs, each waited for with a deadline. A late one ends
// the experiment with all that can be told of it.
#pragma once

#include <memory>

#include "engine/device/handles.h"
#include "profiling/hazards/proofs/experiment_captures.h"
#include "profiling/hazards/proofs/stall_probe.h"

namespace profiling {

class ReplayLauncher {
 public:
  explicit ReplayLauncher(ExperimentState& state) : state_(state) {}

  /// Before anything can hang: events and the probe.
  engine::Status prepare();
  /// One launch of every graph's work without a graph.
  engine::Status launch_eagerly(double deadline, double* seconds);

  /// Of one graph launch from now on.
  void set_deadline(double seconds) { deadline_ = seconds; }
  /// One replay of all graphs. Their time by CUDA events is added to `microseconds`; null = it is
  /// not wanted.
  engine::Status launch_graphs(ExperimentCaptures& captures, int replay, double* microseconds);
  /// The same of the graphs without markers: the same reset before, the same wait after each.
  engine::Status launch_unmarked(ExperimentCaptures& captures, double& microseconds);

 private:
  struct Launch {
    cudaGraphExec_t graph = nullptr;
    int replay = 0;
    int index = 0;                       // of the graph
    const MarkerBoard* board = nullptr;  // null = it has none
  };
  engine::Status launch_and_wait(const Launch& launch, double* microseconds);
  engine::Status stalled(const Launch& launch);

  ExperimentState& state_;
  std::unique_ptr<Probe> probe_;
  engine::Event begin_;
  engine::Event done_;
  double deadline_ = 0.0;
};

}  // namespace profiling
