// What becomes of a worker one of whose threads fails: it ends, and its window starts another. One
// that pulsed without an engine, or worked without a pulse, would keep its window waiting for ever.
#pragma once

#include "engine/model/error.h"

namespace app {

inline constexpr int kExitThreadFailed = 3;

/// Says why on stderr and ends the process with kExitThreadFailed, on any thread.
[[noreturn]] void end_worker(const engine::Error& error);

}  // namespace app
