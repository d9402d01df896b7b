// "Still here", every 50 ms, while the engine thread may be stuck inside the driver. This thread
// reads atomics and the marker board and writes a frame; it makes no CUDA call, and the one lock it
// shares with the engine is never held across one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "app/worker/frame_sender.h"
#include "engine/backend/backend.h"
#include "profiling/graph/live_board.h"

namespace app {

class Pulse {
 public:
  Pulse(FrameSender& sender, const engine::RunProgress& progress,
        const std::atomic<std::uint64_t>& dropped_records, const profiling::LiveBoard& board);
  ~Pulse();

 private:
  void beat_until_stopped();

  FrameSender& sender_;
  const engine::RunProgress& progress_;
  const std::atomic<std::uint64_t>& dropped_records_;
  const profiling::LiveBoard& board_;
  std::mutex mutex_;
  std::condition_variable stopped_changed_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace app
