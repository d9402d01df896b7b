// What the parts of one experiment share: the subject, what is asked of it, what came out so far,
// and how it ends. Lives for one call of run_experiment().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/driver_api.h"
#include "engine/model/error.h"
#include "profiling/hazards/proofs/experiment_run.h"

namespace profiling {

/// Checksums of all outputs, as Subject::checksums() gives them.
using Sums = std::vector<std::uint64_t>;

struct ExperimentState {
  Subject& subject;
  const Experiment& experiment;
  const ExperimentFacts& facts;
  ExperimentWatch watch;
  cudaStream_t stream;
  engine::DriverApi driver = {};
  ExperimentReply reply = {};
  bool finished = false;  // the experiment has its verdict

  /// Ends the experiment with a verdict; the returned status only unwinds.
  engine::Status end(Verdict verdict, std::string message = {});
  /// What a failed CUDA call means for the experiment.
  engine::Status end_with(const engine::Error& error);

  bool cancelled() const { return watch.progress.cancel.load(); }
  static engine::Error cancel_error() {
    return {engine::ErrorCode::Cancelled, "The experiment was cancelled"};
  }

  /// One row an output: the parts whose checksums differ.
  void compare(int replay, const Sums& expected, const Sums& got);

  /// The newest allocation of that owner in the snapshot; null if there is none.
  const engine::Allocation* allocation_of(const std::string& owner) const;
};

/// After these no CUDA call of this process can succeed.
bool device_is_lost(cudaError_t error);

}  // namespace profiling
