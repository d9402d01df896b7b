#include "engine/model/replay_deadline.h"

#include <algorithm>
#include <limits>

#include "engine/model/measurement.h"

namespace engine {

void ReplayDeadline::add(double seconds) {
  seconds_.push_back(seconds);
  if (seconds_.size() < 2 * counted_) return;
  p99_ = p99_seconds();
  counted_ = seconds_.size();
}

double ReplayDeadline::seconds() const {
  if (factor_ <= 0.0) return std::numeric_limits<double>::infinity();
  if (replays() < kReplaysBeforeDeadline) return kFirstReplayDeadline;
  return std::max(kShortestReplayDeadline, factor_ * p99_);
}

double ReplayDeadline::p99_seconds() const {
  return seconds_.empty() ? 0.0 : quantile_of(seconds_, 0.99);
}

}  // namespace engine
