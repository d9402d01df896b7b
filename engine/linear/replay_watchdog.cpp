#include "engine/linear/replay_watchdog.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/device/handles.h"

namespace engine {

Status ReplayWatchdog::wait(cudaEvent_t event) {
  const double seconds = deadline_.seconds();
  // A cancel takes effect between replays: one in progress cannot be stopped.
  ENGINE_ASSIGN(const Waited waited, wait_for(event, seconds, [] { return false; }));
  if (waited == Waited::Done) return {};
  const LateReplay late{.replay = deadline_.replays() + 1,
                        .deadline_seconds = seconds,
                        .p99_seconds = deadline_.p99_seconds()};
  watch_.stalled(late);
  return Error{ErrorCode::Device, fmt::format("Replay {} was not over after {:.1f} s", late.replay,
                                              late.deadline_seconds)};
}

ReplayWatchFacts ReplayWatchdog::facts() const {
  const double seconds = deadline_.seconds();
  return {.replays = deadline_.replays(),
          .p99_us = 1e6 * deadline_.p99_seconds(),
          .deadline_seconds = std::isfinite(seconds) ? seconds : 0.0,
          .markers = markers_};
}

}  // namespace engine
