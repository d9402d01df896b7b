#include "app/sweep/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace app {

std::string BatchRow::unmeasured() const {
  switch (outcome) {
    case Outcome::Measured:
      return {};
    case Outcome::Refused:
      return "refused: " + planned.refused;
    case Outcome::Failed:
      return "failed: " + error;
    case Outcome::Waiting:
      break;
  }
  return "not measured: the sweep ended before";
}

Batch::Batch(profiling::GroupKind kind, std::int64_t id, std::vector<PlannedRun> plan)
    : kind_(kind), id_(id) {
  for (PlannedRun& planned : plan) {
    const Outcome outcome = planned.refused.empty() ? Outcome::Waiting : Outcome::Refused;
    rows_.push_back({.planned = std::move(planned), .outcome = outcome, .error = {}});
  }
  advance();
}

/// Advances to the next waiting row.
void Batch::advance() {
  while (at_ < rows_.size() && rows_[at_].outcome != Outcome::Waiting) ++at_;
  if (at_ == rows_.size() && state_ == BatchState::Running) state_ = BatchState::Done;
}

const engine::RunRequest* Batch::next() const {
  return state_ == BatchState::Running ? &rows_[at_].planned.request : nullptr;
}

void Batch::started(double seconds) { started_seconds_ = seconds; }

profiling::RunGroup Batch::measured(double seconds) {
  BatchRow& row = rows_[at_];
  row.outcome = Outcome::Measured;
  spent_seconds_ += seconds - started_seconds_;
  profiling::RunGroup group{
      .kind = kind_, .id = id_, .position = position_++, .label = row.planned.label};
  advance();
  return group;
}

void Batch::failed(const std::string& why) {
  BatchRow& row = rows_[at_];
  row.outcome = Outcome::Failed;
  row.error = why;
  if (kind_ == profiling::GroupKind::Interleaved) {
    state_ = BatchState::Failed;
    error_ = fmt::format("{} could not be measured: {}", row.planned.label, why);
    return;
  }
  advance();
}

void Batch::cancel() {
  if (state_ == BatchState::Running) state_ = BatchState::Cancelled;
}

void Batch::lost(const std::string& why) {
  if (state_ != BatchState::Running) return;
  state_ = BatchState::Failed;
  error_ = "The worker is lost: " + why;
}

BatchProgress Batch::progress(double seconds, double run_fraction) const {
  BatchProgress progress;
  for (const BatchRow& row : rows_) {
    if (row.outcome == Outcome::Refused) {
      ++progress.refused;
      continue;
    }
    ++progress.total;
    if (row.outcome == Outcome::Measured) ++progress.measured;
    if (row.outcome == Outcome::Failed) ++progress.failed;
  }
  const int ended = progress.measured + progress.failed;
  const bool running = state_ == BatchState::Running;
  const double present = running ? std::clamp(run_fraction, 0.0, 1.0) : 0.0;
  progress.fraction = progress.total == 0 ? 1.0 : (ended + present) / progress.total;
  if (!running) {
    progress.remaining_seconds = 0.0;
    return progress;
  }
  progress.label = rows_[at_].planned.label;
  progress.row = at_;
  if (progress.measured > 0) {
    const double mean = spent_seconds_ / progress.measured;
    const double present_left = std::max(0.0, mean - (seconds - started_seconds_));
    progress.remaining_seconds = mean * (progress.total - ended - 1) + present_left;
  }
  return progress;
}

}  // namespace app
