// The grouped linear step as the doctor examines it.
#pragma once

#include <memory>
#include <string>

#include "engine/device/device_facts.h"
#include "engine/model/run_request.h"
#include "profiling/hazards/proofs/experiment_run.h"
#include "profiling/hazards/proofs/subject.h"

namespace profiling {

/// `cublaslt` is a path, or empty for the search order; the request's own path takes precedence.
/// Gates apply as in a run; `facts` gets the library's version. The request has passed validate().
engine::Result<std::unique_ptr<Subject>> make_step_subject(const engine::RunRequest& request,
                                                           const std::string& cublaslt,
                                                           const engine::FoundDevice& device,
                                                           cudaStream_t stream,
                                                           ExperimentFacts& facts);

}  // namespace profiling
