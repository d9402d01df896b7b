#include "app/worker/pulse.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "app/protocol/convert.h"
#include "app/worker/end_worker.h"

namespace app {
namespace {

constexpr std::chrono::milliseconds kPulsePeriod{50};

}  // namespace

Pulse::Pulse(FrameSender& sender, const engine::RunProgress& progress,
             const std::atomic<std::uint64_t>& dropped_records, const profiling::LiveBoard& board,
             const IdleReadings& readings, const NewestPing& ping)
    : sender_(sender),
      progress_(progress),
      dropped_records_(dropped_records),
      board_(board),
      readings_(readings),
      ping_(ping) {
  thread_ = engine::GuardedThread([this] { beat_until_stopped(); }, end_worker);
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
  std::unique_lock lock(mutex_);
  while (!stopped_ && !sender_.broken()) {
    lock.unlock();
    profiling::LiveBoard::View board = board_.read();
    const PulseReport report = {
        .request_id = progress_.request_id,
        .stage = static_cast<engine::Stage>(progress_.stage.load()),
        .iteration = progress_.iteration,
        .iterations = progress_.iterations,
        .expert = progress_.expert,
        // Sums of shares end a little above 1.
        .fraction = std::clamp(progress_.fraction.load(), 0.0, 1.0),
        .dropped_records = dropped_records_,
        .replay = board.replay,
        .board = std::move(board.nodes),
        .device = board.replay > 0 ? board_.device() : std::string(),
        .reading = readings_.latest(),
        .echo = ping_.echo(),
    };
    wire::Frame frame;
    *frame.mutable_pulse() = to_wire(report);
    // A failed send has marked the sender as broken, which ends this loop and the worker.
    static_cast<void>(sender_.send(frame).ok());
    lock.lock();
    stopped_changed_.wait_for(lock, kPulsePeriod, [this] { return stopped_; });
  }
}

}  // namespace app
