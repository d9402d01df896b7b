// Takes the window's commands, on the main thread. Waits neither for the engine nor for a disk:
// orders go into a slot, questions about files to a thread, and only greetings are answered here.
#pragma once

#include <mutex>
#include <optional>

#include "app/protocol/framing.h"
#include "app/protocol/worker_link.h"
#include "app/worker/file_questions.h"
#include "app/worker/frame_sender.h"
#include "app/worker/idle_readings.h"
#include "app/worker/newest_ping.h"
#include "app/worker/order_slot.h"

namespace app {

inline constexpr int kExitRefused = 4;    // the versions do not match
inline constexpr int kExitMalformed = 5;  // the window sent something that is not a command

class CommandReader {
 public:
  CommandReader(int descriptor, FrameSender& sender, OrderSlot& orders, FileQuestions& files,
                IdleReadings& readings, NewestPing& ping)
      : descriptor_(descriptor),
        sender_(sender),
        orders_(orders),
        files_(files),
        readings_(readings),
        ping_(ping) {}

  /// Runs until the stream ends, the window says so, or the stream cannot be trusted. Returns the
  /// exit code.
  int read_until_end();
  /// Called from the engine thread once the backends exist: the greeting can be answered.
  void backends_ready(const WorkerHello& hello);

 private:
  /// Returns the exit code if this was the last command.
  std::optional<int> handle(const wire::Frame& frame);
  std::optional<int> greet(const wire::Hello& hello);
  void take(const wire::Order& message);
  void refuse(std::uint64_t id, const engine::Error& error);
  void inspect(const wire::FileQuestion& command);
  void reply_if_both_ready();

  int descriptor_;
  FrameSender& sender_;
  OrderSlot& orders_;
  FileQuestions& files_;
  IdleReadings& readings_;
  NewestPing& ping_;
  FrameDecoder decoder_;
  std::mutex greeting_mutex_;  // guards the three below
  bool greeted_ = false;
  bool replied_ = false;
  std::optional<WorkerHello> hello_;
};

}  // namespace app
