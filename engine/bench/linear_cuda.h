// The grouped step on the current CUDA device as subjects of the linear benchmark. CUDA flavour
// only.
#pragma once

#include <memory>
#include <string>

#include "engine/bench/linear_subject.h"
#include "engine/bench/replay_tracer.h"
#include "engine/model/run_result.h"

namespace engine {

inline constexpr const char* kCudaLinearTimes =
    "CUDA events around one launch of a product or of a step's graph, after one that is not timed; "
    "the set-up is one of 32 in a graph, with the gap after it";

struct CudaLinearTarget {
  std::unique_ptr<LinearTarget> target;
  DeviceFacts device;
};

/// Makes device 0 current. `cublaslt_path` as CublasLt::load() takes it; `tracer` may be null and
/// outlives the target.
Result<CudaLinearTarget> make_cuda_linear_target(const std::string& cublaslt_path,
                                                 ReplayTracer* tracer);

}  // namespace engine
