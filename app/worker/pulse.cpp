#include "app/worker/pulse.h"

#include <chrono>

#include "app/protocol/convert_measurement.h"
#include "app/protocol/convert_parts.h"

namespace app {
namespace {

constexpr std::chrono::milliseconds kPeriod{50};

}  // namespace

Pulse::Pulse(FrameSender& sender, const engine::RunProgress& progress,
             const std::atomic<std::uint64_t>& dropped_records, const profiling::LiveBoard& board,
             const IdleReadings& readings)
    : sender_(sender),
      progress_(progress),
      dropped_records_(dropped_records),
      board_(board),
      readings_(readings) {
  thread_ = std::thread([this] { beat_until_stopped(); });
}

Pulse::~Pulse() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stopped_changed_.notify_all();
  thread_.join();
}

void Pulse::beat_until_stopped() {
  std::uint64_t sequence = 0;
  std::unique_lock lock(mutex_);
  while (!stopped_ && !sender_.broken()) {
    lock.unlock();
    wire::Frame frame;
    wire::Pulse& pulse = *frame.mutable_pulse();
    pulse.set_sequence(++sequence);
    pulse.set_request_id(progress_.request_id);
    pulse.set_stage(static_cast<wire::Stage>(progress_.stage.load()));
    pulse.set_iteration(progress_.iteration);
    pulse.set_iterations(progress_.iterations);
    pulse.set_expert(progress_.expert);
    pulse.set_fraction(progress_.fraction);
    pulse.set_dropped_records(dropped_records_);
    const profiling::LiveBoard::View board = board_.read();
    pulse.set_replay(board.replay);
    pulse.set_board(wire_states(board.nodes));
    if (board.replay > 0) pulse.set_device(board_.device());
    if (const auto reading = readings_.latest()) *pulse.mutable_reading() = to_wire(*reading);
    // A failed send has marked the sender as broken, which ends this loop and the worker.
    static_cast<void>(sender_.send(frame).ok());
    lock.lock();
    stopped_changed_.wait_for(lock, kPeriod, [this] { return stopped_; });
  }
}

}  // namespace app
