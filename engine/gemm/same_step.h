// When two requests ask for the same thing.
#pragma once

#include "engine/model/run_request.h"

namespace engine {

/// Both ask for the same step and the same measurements: they differ at most in settings that have
/// no effect (forced_settings()), and in the name of their shape.
bool same_step(const RunRequest& a, const RunRequest& b);

}  // namespace engine
