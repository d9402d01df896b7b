// "Still here", every 50 ms, while the engine thread may be stuck inside the driver. This thread
// reads atomics and writes a frame; it makes no CUDA call and takes no lock of the engine.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "app/worker/frame_sender.h"
#include "engine/backend/backend.h"

namespace app {

class Pulse {
 public:
  Pulse(FrameSender& sender, const engine::RunProgress& progress,
        const std::atomic<std::uint64_t>& dropped_records);
  ~Pulse();

 private:
  void beat_until_stopped();

  FrameSender& sender_;
  const engine::RunProgress& progress_;
  const std::atomic<std::uint64_t>& dropped_records_;
  std::mutex mutex_;
  std::condition_variable stopped_changed_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace app
