// What the CPU reference does of a request. The backend follows it, and the window predicts it
// where the request's device is not there.
#pragma once

#include "engine/gemm/support.h"

namespace engine {

/// The settings that the CPU reference runs, and why each of the others is not as requested.
ForcedSettings settings_on_cpu(const RunRequest& request);

}  // namespace engine
