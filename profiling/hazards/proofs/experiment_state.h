// State shared by the parts of one experiment: the subject, the request, the results so far, and
// how it ends. Lives for one call of run_experiment().
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
  /// Ends the experiment according to a failed CUDA call.
  engine::Status end_with(const engine::Error& error);

  bool cancelled() const { return watch.progress.cancel.load(); }
  static engine::Error cancel_error() {
    return {engine::ErrorCode::Cancelled, "The experiment was cancelled"};
  }

  /// One row per output: the parts whose checksums differ.
  void compare(int replay, const Sums& expected, const Sums& got);

  /// That owner's newest allocation in the snapshot; null if none.
  const engine::Allocation* allocation_of(const std::string& owner) const;
};

/// After these no CUDA call of this process can succeed.
bool device_is_lost(cudaError_t error);

}  // namespace profiling
