// The biases of a step: no file contains them, so they are generated.
#pragma once

#include <vector>

#include "engine/model/run_request.h"

namespace engine {

/// b of every expert, [num_experts, n]: normal values times 0.1 that depend on (seed, layer,
/// expert, column) alone; not yet rounded to the step's type.
std::vector<float> bias_values(const RunRequest& request, int layer);

}  // namespace engine
