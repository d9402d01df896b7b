#include "app/controllers/batch_controller.h"

#include <chrono>
#include <utility>

namespace app {
namespace {

constexpr const char* kNoWorker = "No worker has reported what it can do; start one first.";

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void BatchController::start(const SweepOrder& order, const std::optional<WorkerHello>& hello) {
  if (!hello) return refuse(profiling::GroupKind::Sweep, kNoWorker);
  auto plan = plan_in_window(order, *hello);
  if (!plan.ok()) return refuse(profiling::GroupKind::Sweep, plan.error().message);
  begin(profiling::GroupKind::Sweep, std::move(plan).value());
}

void BatchController::start(const InterleavedOrder& order,
                            const std::optional<WorkerHello>& hello) {
  if (!hello) return refuse(profiling::GroupKind::Interleaved, kNoWorker);
  auto plan =
      plan_interleaved(order, *hello, static_cast<std::uint64_t>(profiling::unix_time_ms()));
  if (!plan.ok()) return refuse(profiling::GroupKind::Interleaved, plan.error().message);
  begin(profiling::GroupKind::Interleaved, std::move(plan).value());
}

void BatchController::begin(profiling::GroupKind kind, std::vector<PlannedRun> plan) {
  batch_.emplace(kind, profiling::unix_time_ms(), std::move(plan));
  kind_ = kind;
  refusal_.clear();
  order_id_ = 0;
  ended_ = false;
  publish();
}

void BatchController::refuse(profiling::GroupKind kind, const std::string& why) {
  batch_.reset();
  rows_.reset();
  kind_ = kind;
  refusal_ = why;
}

void BatchController::publish() {
  rows_ = std::make_shared<const std::vector<BatchRow>>(batch_->rows());
  if (batch_->state() != BatchState::Running) {
    ended_ = true;
    order_id_ = 0;
  }
}

bool BatchController::running() const { return batch_ && batch_->state() == BatchState::Running; }

void BatchController::cancel() {
  if (!running()) return;
  batch_->cancel();
  publish();
}

void BatchController::step(LinkSupervisor& link) {
  if (!running()) return;
  if (link.status().state == LinkState::Lost) {
    batch_->lost(link.status().reason);
    return publish();
  }
  if (link.waiting()) return;
  order_id_ = link.submit(*batch_->next());
  batch_->started(steady_seconds());
}

std::optional<profiling::RunGroup> BatchController::take_result(std::uint64_t id) {
  if (!running() || order_id_ == 0 || id != order_id_) return std::nullopt;
  order_id_ = 0;
  const profiling::RunGroup group = batch_->measured(steady_seconds());
  publish();
  return group;
}

bool BatchController::take_error(std::uint64_t id, const engine::Error& error,
                                 const LinkSupervisor& link) {
  if (order_id_ == 0 || id != order_id_ || !running()) return false;
  order_id_ = 0;
  if (error.code != engine::ErrorCode::Cancelled) {
    batch_->failed(error.message);
  } else if (link.newest_order() == id) {
    batch_->cancel();
  }  // else a run of the rail superseded it: it is ordered again
  publish();
  return true;
}

bool BatchController::take_end() { return std::exchange(ended_, false); }

BatchStatus BatchController::status(const LinkStatus& link) const {
  BatchStatus now;
  now.kind = kind_;
  now.error = refusal_;
  if (!batch_) return now;
  const bool present = order_id_ != 0 && link.pulse.request_id == order_id_;
  now.id = batch_->id();
  now.state = batch_->state();
  now.progress = batch_->progress(steady_seconds(), present ? link.pulse.fraction : 0.0);
  now.rows = rows_;
  if (now.error.empty()) now.error = batch_->error();
  return now;
}

}  // namespace app
