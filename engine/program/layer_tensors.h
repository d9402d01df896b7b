// The tensors of an expert layer that a request's step has, with their extents and bytes. No run is
// needed, and no CUDA.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/layer_result.h"
#include "engine/model/run_request.h"

namespace engine {

/// In the order of LayerTensor, of one layer with all its experts; errors and statistics are empty.
std::vector<LayerTensorResult> layer_tensors(const RunRequest& request,
                                             std::span<const std::int64_t> splits);

}  // namespace engine
