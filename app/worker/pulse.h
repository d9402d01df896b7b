// A pulse every 50 ms, also while the engine thread is stuck inside the driver. The thread
// reads atomics, the marker board and the newest device reading, and writes a frame; it makes no
// CUDA call, and the locks it shares are never held across a CUDA call or a query to NVML.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "app/worker/frame_sender.h"
#include "app/worker/idle_readings.h"
#include "app/worker/newest_ping.h"
#include "engine/model/guarded_thread.h"
#include "engine/observe/step_observer.h"
#include "profiling/hazards/model/live_board.h"

namespace app {

class Pulse {
 public:
  Pulse(FrameSender& sender, const engine::RunProgress& progress,
        const std::atomic<std::uint64_t>& dropped_records, const profiling::LiveBoard& board,
        const IdleReadings& readings, const NewestPing& ping);
  ~Pulse();

 private:
  void beat_until_stopped();

  FrameSender& sender_;
  const engine::RunProgress& progress_;
  const std::atomic<std::uint64_t>& dropped_records_;
  const profiling::LiveBoard& board_;
  const IdleReadings& readings_;
  const NewestPing& ping_;
  std::mutex mutex_;
  std::condition_variable stopped_changed_;
  bool stopped_ = false;
  engine::GuardedThread thread_;
};

}  // namespace app
