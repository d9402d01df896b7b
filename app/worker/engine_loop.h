// The engine thread's work: take the newest order, carry it out, answer it. The only thread that
// calls a backend. Every order that reaches it gets exactly one last answer. An order that names a
// cuBLASLt library which its user has not allowed is refused here, before any backend sees it: a
// file must not decide whose code runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "app/worker/backends.h"
#include "app/worker/frame_sender.h"
#include "app/worker/idle_readings.h"
#include "app/worker/order_slot.h"
#include "app/worker/replay_guard.h"
#include "engine/observe/step_observer.h"
#include "profiling/hazards/model/live_board.h"

namespace app {

class EngineLoop {
 public:
  EngineLoop(FrameSender& sender, OrderSlot& orders, engine::RunProgress& progress)
      : sender_(sender), orders_(orders), progress_(progress), guard_(sender, board_) {}

  /// Creates the backends, passes them to `readings` and `ready`, then works until the slot is
  /// closed.
  void run(const BackendOptions& options, IdleReadings& readings,
           const std::function<void(const WorkerHello&)>& ready);
  const std::atomic<std::uint64_t>& dropped_records() const { return dropped_records_; }
  /// Board of the replay in progress: of a doctor's, or of a run's with markers.
  const profiling::LiveBoard& board() const { return board_; }

 private:
  void perform(Backends& backends, const Order& order);

  FrameSender& sender_;
  OrderSlot& orders_;
  engine::RunProgress& progress_;
  std::atomic<std::uint64_t> dropped_records_{0};
  profiling::LiveBoard board_;
  ReplayGuard guard_;
};

}  // namespace app
