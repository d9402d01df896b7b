#include "profiling/power/step_times.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/model/count_text.h"

namespace profiling {
namespace {

/// Throttle reasons in the readings from `begin_ns` until just before `end_ns`.
std::uint64_t throttled_by(std::int64_t begin_ns, std::int64_t end_ns,
                           std::span<const PowerSample> samples) {
  auto at = std::ranges::lower_bound(samples, begin_ns, {}, &PowerSample::time_ns);
  if (at != samples.begin()) --at;
  std::uint64_t reasons = 0;
  for (; at != samples.end(); ++at) {
    reasons |= at->clock_reasons & kThrottleReasons;
    if (at->time_ns >= end_ns) break;
  }
  return reasons;
}

}  // namespace

std::string sample_text(const StepTimes& times, bool skip_throttled) {
  const std::size_t all = times.durations_ns.size();
  if (times.throttled_count == 0) return fmt::format("n {}", engine::count_text(all));
  if (skip_throttled && times.mixed()) {
    return fmt::format("n {}, {} throttled skipped",
                       engine::count_text(all - times.throttled_count),
                       engine::count_text(times.throttled_count));
  }
  return fmt::format("n {}, {} throttled", engine::count_text(all),
                     engine::count_text(times.throttled_count));
}

std::vector<double> durations_ns(std::span<const engine::Iteration> iterations) {
  std::vector<double> ns;
  ns.reserve(iterations.size());
  for (const engine::Iteration& one : iterations) {
    ns.push_back(static_cast<double>(one.duration_ns));
  }
  return ns;
}

TimeSpan timed_span(std::span<const engine::Iteration> iterations) {
  if (iterations.empty()) return {};
  return {.begin_ns = 0, .end_ns = iterations.back().start_ns + iterations.back().duration_ns};
}

StepTimes step_times(std::span<const engine::Iteration> iterations,
                     std::span<const PowerSample> samples) {
  StepTimes times;
  times.durations_ns = durations_ns(iterations);
  std::vector<bool> throttled;
  throttled.reserve(iterations.size());
  for (const engine::Iteration& one : iterations) {
    const std::uint64_t reasons =
        throttled_by(one.start_ns, one.start_ns + one.duration_ns, samples);
    throttled.push_back(reasons != 0);
    times.reasons |= reasons;
    if (reasons != 0) ++times.throttled_count;
  }
  if (!samples.empty()) times.throttled = std::move(throttled);
  return times;
}

std::vector<double> StepTimes::counted_ns(bool skip_throttled) const {
  if (!skip_throttled || !mixed()) return durations_ns;
  std::vector<double> counted;
  counted.reserve(durations_ns.size() - throttled_count);
  for (std::size_t i = 0; i < durations_ns.size(); ++i) {
    if (!throttled[i]) counted.push_back(durations_ns[i]);
  }
  return counted;
}

}  // namespace profiling
