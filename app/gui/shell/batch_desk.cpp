#include "app/gui/shell/batch_desk.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace app {
namespace {

constexpr const char* kNoWorker = "The worker has not said yet what it can do; start one first.";

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void BatchDesk::start(const SweepOrder& order, const std::optional<WorkerHello>& hello) {
  if (!hello) return refuse(profiling::GroupKind::Sweep, kNoWorker);
  std::vector<PlannedRun> plan = plan_sweep(order.base, order.axes, *hello);
  if (plan.size() > kMaxWindowSweep) {
    return refuse(profiling::GroupKind::Sweep,
                  fmt::format("{} runs are more than the {} that the window keeps at hand; take "
                              "away an axis, or use the command line.",
                              plan.size(), kMaxWindowSweep));
  }
  begin(profiling::GroupKind::Sweep, std::move(plan));
}

void BatchDesk::start(const InterleavedOrder& order, const std::optional<WorkerHello>& hello) {
  if (!hello) return refuse(profiling::GroupKind::Interleaved, kNoWorker);
  auto plan = plan_interleaved(order, *hello);
  if (!plan.ok()) return refuse(profiling::GroupKind::Interleaved, plan.error().message);
  begin(profiling::GroupKind::Interleaved, std::move(plan).value());
}

void BatchDesk::begin(profiling::GroupKind kind, std::vector<PlannedRun> plan) {
  batch_.emplace(kind, profiling::unix_time_ms(), std::move(plan));
  kind_ = kind;
  refusal_.clear();
  order_id_ = 0;
  ended_ = false;
  publish();
}

void BatchDesk::refuse(profiling::GroupKind kind, const std::string& why) {
  batch_.reset();
  rows_.reset();
  kind_ = kind;
  refusal_ = why;
}

void BatchDesk::publish() {
  rows_ = std::make_shared<const std::vector<BatchRow>>(batch_->rows());
  if (batch_->state() != BatchState::Running) {
    ended_ = true;
    order_id_ = 0;
  }
}

bool BatchDesk::running() const { return batch_ && batch_->state() == BatchState::Running; }

void BatchDesk::cancel() {
  if (!running()) return;
  batch_->cancel();
  publish();
}

void BatchDesk::step(LinkSupervisor& link) {
  if (!running()) return;
  if (link.status().state == LinkState::Lost) {
    batch_->lost(link.status().reason);
    return publish();
  }
  if (link.waiting()) return;
  order_id_ = link.submit(*batch_->next());
  batch_->started(steady_seconds());
}

std::optional<profiling::RunGroup> BatchDesk::take_result(std::uint64_t id) {
  if (!running() || order_id_ == 0 || id != order_id_) return std::nullopt;
  order_id_ = 0;
  const profiling::RunGroup group = batch_->measured(steady_seconds());
  publish();
  return group;
}

bool BatchDesk::take_error(std::uint64_t id, const engine::Error& error,
                           const LinkSupervisor& link) {
  if (order_id_ == 0 || id != order_id_ || !running()) return false;
  order_id_ = 0;
  if (error.code != engine::ErrorCode::Cancelled) {
    batch_->failed(error.message);
  } else if (link.newest_order() == id) {
    batch_->cancel();
  }  // else a run of the rail came before it: it is asked for again
  publish();
  return true;
}

bool BatchDesk::take_end() { return std::exchange(ended_, false); }

BatchNews BatchDesk::news(const LinkStatus& status) const {
  BatchNews news;
  news.kind = kind_;
  news.error = refusal_;
  if (!batch_) return news;
  const bool present = order_id_ != 0 && status.pulse.request_id == order_id_;
  news.id = batch_->id();
  news.state = batch_->state();
  news.progress = batch_->progress(steady_seconds(), present ? status.pulse.fraction : 0.0);
  news.rows = rows_;
  if (news.error.empty()) news.error = batch_->error();
  return news;
}

}  // namespace app
