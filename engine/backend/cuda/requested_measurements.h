// What a request may ask to be measured besides the iterations: every expert alone and by stamps
// inside the kernels, and what the device can do at most.
#pragma once

#include <functional>

#include "engine/backend/cuda/step_setup.h"
#include "engine/model/error.h"
#include "engine/model/run_result.h"

namespace engine {

/// As `result.effective.measure` asks. What this step cannot measure becomes a deviation. Comes
/// after the iterations, because it overwrites the step's outputs.
Status measure_requested(const BuiltStep& built, cudaStream_t stream,
                         const std::function<bool()>& cancelled, RunResult& result);

}  // namespace engine
