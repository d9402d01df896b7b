// The last frame of a worker whose run has stalled: what was observed of it, as the answer to the
// run.
#pragma once

#include <chrono>
#include <cstdint>

#include "app/worker/frame_sender.h"
#include "profiling/hazards/model/experiment.h"

namespace app {

struct StalledOrder {
  std::uint64_t id = 0;
  std::chrono::steady_clock::time_point began;
};

/// Sends it and ends the process without destructors, which might wait forever.
[[noreturn]] void answer_and_end(FrameSender& sender, const StalledOrder& order,
                                 profiling::StalledRun run);

}  // namespace app
