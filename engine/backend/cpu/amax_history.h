// Runs delayed scaling step by step on the CPU twins, which every machine can do.
#pragma once

#include "engine/model/amax_history.h"
#include "engine/observe/step_observer.h"

namespace engine {

/// The request has passed validate(). Cancelled when progress.cancel was seen between two steps.
Result<AmaxHistory> step_amax_history(const AmaxHistoryRequest& request, RunProgress& progress);

}  // namespace engine
