// The last frame of a worker whose run stands still: what was seen of it, as the answer to the run.
#pragma once

#include <chrono>
#include <cstdint>

#include "app/worker/frame_sender.h"
#include "profiling/hazards/model/stalled_run.h"

namespace app {

struct StalledOrder {
  std::uint64_t id = 0;
  std::chrono::steady_clock::time_point began;
};

/// Sends it and ends the process without destructors, which would wait for what may never end.
[[noreturn]] void answer_and_end(FrameSender& sender, const StalledOrder& order,
                                 profiling::StalledRun run);

}  // namespace app
