// `expertscope run --explain`: what the step of a request will do, before anything runs.
#pragma once

#include "engine/model/run_request.h"

namespace app::cli {

/// Prints the program of the step, operation by operation, with the least bytes and FLOP of each
/// for the request's routing; as JSON if wanted. Returns the exit code: a request whose routing or
/// sizes cannot be resolved on this machine is an error.
int explain_step(const engine::RunRequest& request, bool json);

}  // namespace app::cli
