// The two ways in which a worker ends itself, without destructors, which might wait forever: one of
// its threads failed, or its run has stalled.
#pragma once

#include <chrono>
#include <cstdint>

#include "app/worker/frame_sender.h"
#include "engine/model/error.h"
#include "profiling/hazards/model/experiment.h"

namespace app {

inline constexpr int kExitThreadFailed = 3;

/// Prints the reason to stderr and ends the process with kExitThreadFailed, so that the window
/// starts another worker: with a pulse but no engine, or an engine but no pulse, this one would
/// keep the window waiting forever. Any thread.
[[noreturn]] void end_worker(const engine::Error& error);

struct StalledOrder {
  std::uint64_t id = 0;
  std::chrono::steady_clock::time_point began;
};

/// The last frame of a worker whose run has stalled: what was observed of it, as the answer.
[[noreturn]] void answer_and_end(FrameSender& sender, const StalledOrder& order,
                                 profiling::StalledRun run);

}  // namespace app
