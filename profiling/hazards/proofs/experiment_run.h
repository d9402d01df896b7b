// Runs one experiment: eager launches first, then the capture, the changes, the replays and their
// checks. In a process that ends afterwards; see profiling/hazards/model/experiment.h for the
// fields of an experiment.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/model/error.h"
#include "engine/model/run_result.h"
#include "engine/observe/step_observer.h"
#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/live_board.h"
#include "profiling/hazards/model/snapshot.h"
#include "profiling/hazards/proofs/subject.h"

namespace profiling {

/// Where the snapshot was taken.
struct ExperimentFacts {
  engine::DeviceFacts device;  // with cuBLASLt's version and path if one was loaded
};

/// For other threads to inspect.
struct ExperimentWatch {
  engine::RunProgress& progress;
  LiveBoard& board;
};

struct ExperimentReply {
  Snapshot snapshot;  // graphs empty = nothing was captured
  Outcome outcome;
};

/// After a reply whose outcome is Hung or Crashed no CUDA call may follow: it might not return.
/// Errors: an experiment that names nodes or memory that the subject lacks, a subject that cannot
/// be launched, Cancelled. `stream` must not be the default stream.
engine::Result<ExperimentReply> run_experiment(Subject& subject, const Experiment& experiment,
                                               const ExperimentFacts& facts, ExperimentWatch watch,
                                               cudaStream_t stream);

}  // namespace profiling
