// The tensors that a request's step has, with their extents and bytes: the rows of its result. No
// run is needed, and no CUDA.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/run_request.h"
#include "engine/model/tensor_result.h"

namespace engine {

/// Rows in the order of StepTensor, for one layer with all its experts; measured values are empty.
std::vector<TensorResult> tensor_results(const RunRequest& request,
                                         std::span<const std::int64_t> splits);

}  // namespace engine
