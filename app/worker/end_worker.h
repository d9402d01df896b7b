// A worker ends when one of its threads fails, and its window starts another. With a pulse but no
// engine, or an engine but no pulse, it would keep the window waiting forever.
#pragma once

#include "engine/model/error.h"

namespace app {

inline constexpr int kExitThreadFailed = 3;

/// Prints the reason to stderr and ends the process with kExitThreadFailed. Any thread.
[[noreturn]] void end_worker(const engine::Error& error);

}  // namespace app
