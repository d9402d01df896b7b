// A finished run as recordings store it.
#pragma once

#include <utility>

#include "app/protocol/orders.h"
#include "engine/model/run_request.h"
#include "profiling/session/session_file.h"

namespace app {

/// Moves: a run may hold 20 million records, and the window's thread has no time to copy them.
inline profiling::RecordedRun recorded_run(RunDone&& done, const engine::RunRequest& request) {
  return {.request = request,
          .result = std::move(done.result),
          .activity = std::move(done.activity),
          .wall_clock_ms = profiling::unix_time_ms(),
          .snapshot = std::move(done.snapshot),
          .power = std::move(done.power)};
}

}  // namespace app
