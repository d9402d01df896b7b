// Watches the launches of this worker's runs. A replay that is late, or a launch that does not
// return, is answered with what was observed of it, and the worker ends: what it waits for may
// never come.
#pragma once

#include <cstdint>
#include <memory>

#include "app/worker/backends.h"
#include "app/worker/frame_sender.h"
#include "app/worker/launch_guard.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"
#include "engine/observe/replay_watch.h"
#include "profiling/hazards/model/live_board.h"

namespace profiling {
class Probe;
}

namespace app {

/// Fills in where the snapshot of a run's graph was taken.
void describe_run(profiling::Snapshot& snapshot, const engine::DeviceFacts& device);

class ReplayGuard {
 public:
  ReplayGuard(FrameSender& sender, profiling::LiveBoard& board);
  ~ReplayGuard();

  /// For one run; null if nothing is launched on a device. Creates the probe before anything can
  /// hang.
  engine::Result<std::unique_ptr<engine::ReplayWatch>> watch(Backends& backends,
                                                             const engine::BackendSlot& slot,
                                                             std::uint64_t id,
                                                             const engine::RunRequest& request);

 private:
  FrameSender& sender_;
  profiling::LiveBoard& board_;
  std::unique_ptr<profiling::Probe> probe_;  // created by the first run on a device
  LaunchGuard launches_;
};

}  // namespace app
