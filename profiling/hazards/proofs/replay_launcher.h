// Launches of one experiment, eager and as graphs, each waited for with a deadline. A late one ends
// the experiment with everything known about it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/device/handles.h"
#include "profiling/hazards/proofs/experiment_captures.h"
#include "profiling/hazards/proofs/stall_probe.h"

namespace profiling {

class ReplayLauncher {
 public:
  explicit ReplayLauncher(ExperimentState& state) : state_(state) {}

  /// Creates events and the probe, before anything can hang.
  engine::Status prepare();
  /// One step without graphs.
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
  enum class Markers { With, Without };
  engine::Status fill(const std::vector<FilledMemory>& memory) const;
  /// All launches of one replay.
  engine::Status launch_step(ExperimentCaptures& captures, int replay, Markers markers,
                             double* microseconds);
  /// Launches that may run at the same time, each on a stream of its own.
  engine::Status launch_wave(ExperimentCaptures& captures, std::span<const PlannedLaunch> wave,
                             int replay, Markers markers, double* microseconds);
  engine::Status launch_and_wait(std::span<const Launch> wave, double* microseconds);
  engine::Status start(std::span<const Launch> wave);
  /// The first unfinished launch of a wave that has missed its deadline.
  const Launch& unfinished(std::span<const Launch> wave) const;
  engine::Status stalled(const Launch& launch);

  ExperimentState& state_;
  std::unique_ptr<Probe> probe_;
  engine::Event begin_;
  engine::Event done_;
  struct Lane {
    engine::Stream stream;
    engine::Event done;
  };
  std::vector<Lane> lanes_;  // of a wave's launches; the first one's stream is not used
  double deadline_ = 0.0;
};

}  // namespace profiling
