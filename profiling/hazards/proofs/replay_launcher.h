// Launches of one experiment, eager and as graphs, each waited for with a deadline. A late one ends
// the experiment with everything known about it.
#pragma once

#include <memory>

#include "engine/device/handles.h"
#include "profiling/hazards/proofs/experiment_captures.h"
#include "profiling/hazards/proofs/stall_probe.h"

namespace profiling {

class ReplayLauncher {
 public:
  explicit ReplayLauncher(ExperimentState& state) : state_(state) {}

  /// Creates events and the probe, before anything can hang.
  engine::Status prepare();
  /// One eager launch of every graph's work.
  engine::Status launch_eagerly(double deadline, double* seconds);

  /// Deadline of one graph launch from now on.
  void set_deadline(double seconds) { deadline_ = seconds; }
  /// One replay of all graphs. Appends their time by CUDA events to `microseconds` unless null.
  engine::Status launch_graphs(ExperimentCaptures& captures, int replay, double* microseconds);
  /// The same for the graphs without markers: the same reset before, the same wait after each.
  engine::Status launch_unmarked(ExperimentCaptures& captures, double& microseconds);

 private:
  struct Launch {
    cudaGraphExec_t graph = nullptr;
    int replay = 0;
    int index = 0;                       // of the graph
    const MarkerBoard* board = nullptr;  // null = none
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
