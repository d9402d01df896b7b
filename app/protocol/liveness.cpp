#include "app/protocol/liveness.h"

#include <fmt/format.h>

namespace app {
namespace {

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

bool same_progress(const PulseReport& a, const PulseReport& b) {
  return a.request_id == b.request_id && a.stage == b.stage && a.iteration == b.iteration &&
         a.expert == b.expert && !(a.fraction < b.fraction) && !(b.fraction < a.fraction) &&
         a.replay == b.replay && a.board == b.board;
}

}  // namespace

void Liveness::pulse(const PulseReport& pulse, Time now) {
  if (!same_progress(pulse, pulse_)) progressed_ = now;
  pulse_ = pulse;
}

void Liveness::lost(std::string reason) {
  lost_ = true;
  lost_reason_ = std::move(reason);
}

bool Liveness::silent(Time now) const {
  return greeted_ ? now - heard_ > kPulseLimit : now - started_ > kStartLimit;
}

bool Liveness::stuck(Time now) const {
  return progress_stall_seconds_ > 0 && pulse_.request_id != 0 &&
         seconds(now - progressed_) > progress_stall_seconds_;
}

LinkState Liveness::state(Time now, bool awaiting) const {
  if (lost_) return LinkState::Lost;
  if (silent(now)) return LinkState::Stalled;
  if (!greeted_) return LinkState::Starting;
  if (stuck(now)) return LinkState::Stalled;
  return awaiting || pulse_.request_id != 0 ? LinkState::Busy : LinkState::Responsive;
}

double Liveness::seconds_silent(Time now) const { return seconds(now - heard_); }

double Liveness::seconds_still(Time now) const { return seconds(now - progressed_); }

std::string Liveness::reason(Time now, bool awaiting) const {
  if (lost_) return lost_reason_;
  if (state(now, awaiting) != LinkState::Stalled) return {};
  if (silent(now)) {
    return greeted_
               ? fmt::format("no pulse for {:.1f} s", seconds(now - heard_))
               : fmt::format("no answer for {:.0f} s since its start", seconds(now - started_));
  }
  return fmt::format("no progress for {:.1f} s in {}, iteration {} of {}",
                     seconds(now - progressed_), engine::stage_name(pulse_.stage),
                     pulse_.iteration + 1, pulse_.iterations);
}

}  // namespace app
