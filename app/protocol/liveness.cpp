#include "app/protocol/liveness.h"

#include <fmt/format.h>

#include "engine/model/values.h"

namespace app {
namespace {

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

bool same_progress(const PulseReport& a, PulseReport b) {
  b.device = a.device;
  b.reading = a.reading;
  b.echo = a.echo;
  return engine::equal_fields(a, b);
}

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

std::optional<WaitReporter::Silence> WaitReporter::silence_of(const LinkStatus& status) {
  if (status.state == LinkState::Lost) return std::nullopt;
  if (status.cancel_overdue) return Silence::Cancel;
  if (status.seconds_still < kNoticeSeconds) return std::nullopt;
  switch (status.state) {
    case LinkState::Starting:
      return Silence::Greeting;
    case LinkState::Stalled:
      return Silence::Pulses;
    case LinkState::Busy:
      return status.pulse.request_id == 0 ? Silence::Begin : Silence::Progress;
    case LinkState::Responsive:
    case LinkState::Lost:
      break;
  }
  return std::nullopt;
}

std::string WaitReporter::describe(Silence silence, const LinkStatus& status) {
  switch (silence) {
    case Silence::Greeting:
      return "it has not sent its greeting";
    case Silence::Pulses:
      return status.reason;
    case Silence::Begin:
      return "it responds, but has not started the order";
    case Silence::Cancel:
      return "it has not acknowledged the cancel";
    case Silence::Progress:
      break;
  }
  return fmt::format("it responds, but makes no progress in {}, iteration {} of {}",
                     engine::stage_name(status.pulse.stage), status.pulse.iteration + 1,
                     status.pulse.iterations);
}

std::optional<std::string> WaitReporter::word(const LinkStatus& status) {
  const std::optional<Silence> silence = silence_of(status);
  if (!silence) return std::nullopt;
  if (*silence == Silence::Progress && status.seconds_still < quiet_seconds_) return std::nullopt;
  if (!reported_.insert(*silence).second) return std::nullopt;
  const std::string limit =
      limit_seconds_ > 0
          ? fmt::format("given up after {:g} s without progress (--timeout)", limit_seconds_)
          : std::string("waited for without limit (--timeout)");
  return fmt::format(
      "the worker (process {}) has made no progress for {:.0f} s: {}. It is {}; Ctrl+C ends it now",
      status.pid, status.seconds_still, describe(*silence, status), limit);
}

std::optional<std::string> WaitReporter::give_up_reason(const LinkStatus& status) const {
  const std::optional<Silence> silence = silence_of(status);
  if (!silence || limit_seconds_ <= 0 || status.seconds_still <= limit_seconds_) {
    return std::nullopt;
  }
  return fmt::format(
      "gave up on the worker (process {}) after {:.1f} s without progress: {}; the limit is {:g} "
      "s, set another one with --timeout",
      status.pid, status.seconds_still, describe(*silence, status), limit_seconds_);
}

}  // namespace app
