// The launches of one step of a subject: eager in their order, and as an experiment wants them.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "engine/model/error.h"
#include "engine/observe/step_observer.h"
#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/proofs/subject.h"

namespace profiling {

/// Subject::launches(), or every graph once. Never empty.
std::vector<GraphLaunch> launches_of(const Subject& subject);

struct PlannedLaunch {
  int captured = 0;  // which of the captured graphs
  int number = 0;    // in launches_of() the subject
  bool overlaps = false;
};

/// InvalidArgument if the experiment launches a graph more or less often than the subject.
engine::Result<std::vector<PlannedLaunch>> plan_launches(const Subject& subject,
                                                         const Experiment& experiment);

/// One step without any graph. Enqueues only.
engine::Status enqueue_step(Subject& subject, cudaStream_t stream, engine::StepObserver& observer);

}  // namespace profiling
