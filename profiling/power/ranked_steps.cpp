#include "profiling/power/ranked_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/model/measurement.h"
#include "engine/model/run_result.h"
#include "profiling/power/step_times.h"

namespace profiling {
namespace {

/// Two times of one step and two of another lie apart by luck in one of three cases, five and five
/// in one of 126. Below that a step's own range is not trusted.
constexpr int kFewVisits = 5;

struct Visits {
  std::vector<double> counted;
  std::vector<double> first;  // the first timed iteration, unless it was throttled
  std::vector<double> throttled;
};

Visits visits_of(std::size_t step, std::size_t steps, const StepTimes& times) {
  Visits visits;
  for (std::size_t at = step; at < times.durations_ns.size(); at += steps) {
    std::vector<double>& kind = times.mixed() && times.throttled[at] ? visits.throttled
                                : at == 0                            ? visits.first
                                                                     : visits.counted;
    kind.push_back(times.durations_ns[at]);
  }
  return visits;
}

/// Puts the times of these visits in place of the step's own.
void set_times(std::vector<double> visits, engine::RecordedStep& step, StepTime& time) {
  std::ranges::sort(visits);
  time.counted = static_cast<int>(visits.size());
  time.lowest_ns = visits.front();
  time.highest_ns = visits.back();
  step.median_ns = engine::quantile(visits, 0.5);
  step.p5_ns = engine::quantile(visits, 0.05);
  step.p95_ns = engine::quantile(visits, 0.95);
}

void count_visits(Visits visits, bool skip_throttled, engine::RecordedStep& step, StepTime& time) {
  if (!visits.counted.empty()) {
    time.visits = StepVisits::Counted;
    set_times(std::move(visits.counted), step, time);
  } else if (!visits.first.empty()) {
    time.visits = StepVisits::OnlyFirst;
    set_times(std::move(visits.first), step, time);
  } else if (!visits.throttled.empty()) {
    time.visits = StepVisits::OnlyThrottled;
    if (skip_throttled) {
      step.median_ns = step.p5_ns = step.p95_ns = std::numeric_limits<double>::quiet_NaN();
    } else {
      set_times(std::move(visits.throttled), step, time);
    }
  }
}

struct Span {
  double low = 0.0;
  double high = 0.0;
};

/// The ranges by which steps are told apart, of those that are ranked.
std::vector<Span> trusted_ranges(const RankedSteps& ranked, std::span<const std::size_t> order) {
  // Highest over lowest; without two visits of any step nothing is known about the spread.
  double widest = std::numeric_limits<double>::infinity();
  for (const std::size_t step : order) {
    const StepTime& time = ranked.times[step];
    if (time.counted < 2 || time.lowest_ns <= 0.0) continue;
    const double own = time.highest_ns / time.lowest_ns;
    widest = std::isinf(widest) ? own : std::max(widest, own);
  }
  std::vector<Span> ranges;
  for (const std::size_t step : order) {
    const StepTime& time = ranked.times[step];
    Span range{time.lowest_ns, time.highest_ns};
    if (time.counted < kFewVisits) {
      const double median = ranked.recorded.steps[step].median_ns;
      range.low = std::min(range.low, median / std::sqrt(widest));
      range.high = std::max(range.high, median * std::sqrt(widest));
    }
    ranges.push_back(range);
  }
  return ranges;
}

/// How many at the beginning are slower for certain than all that follow: as many as may be named.
std::size_t apart_from_the_rest(std::span<const Span> ranges) {
  std::vector<double> highest_from(ranges.size() + 1, -std::numeric_limits<double>::infinity());
  for (std::size_t i = ranges.size(); i-- > 0;) {
    highest_from[i] = std::max(highest_from[i + 1], ranges[i].high);
  }
  double lowest = std::numeric_limits<double>::infinity();
  std::size_t apart = 0;
  for (std::size_t i = 0; i < std::min(kMostSlowest, ranges.size() / 2); ++i) {
    lowest = std::min(lowest, ranges[i].low);
    if (lowest > highest_from[i + 1]) apart = i + 1;
  }
  return apart;
}

void rank(RankedSteps& ranked, std::span<const std::size_t> order) {
  const std::vector<Span> ranges = trusted_ranges(ranked, order);
  std::vector<double> lows;
  std::vector<double> highs;
  for (const Span& range : ranges) {
    lows.push_back(range.low);
    highs.push_back(range.high);
  }
  std::ranges::sort(lows);
  std::ranges::sort(highs);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto above = lows.end() - std::ranges::upper_bound(lows, ranges[i].high);
    const auto below = std::ranges::lower_bound(highs, ranges[i].low) - highs.begin();
    StepTime& time = ranked.times[order[i]];
    time.rank = 1 + static_cast<int>(above);
    // All that lie neither above nor below: more than the step itself.
    time.tied = std::ssize(order) - above - below > 1;
  }
  const std::size_t apart = apart_from_the_rest(ranges);
  ranked.slowest.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(apart));
}

std::string numbers_of(const RankedSteps& ranked, std::span<const std::size_t> steps) {
  std::string numbers;
  for (const std::size_t step : steps) {
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", ranked.recorded.steps[step].step);
  }
  return numbers;
}

}  // namespace

std::shared_ptr<const RankedSteps> ranked_steps(const engine::RunResult& result,
                                                std::span<const PowerSample> samples,
                                                bool skip_throttled) {
  auto ranked = std::make_shared<RankedSteps>();
  if (!result.recorded_routing) return ranked;
  ranked->recorded = *result.recorded_routing;
  std::vector<engine::RecordedStep>& steps = ranked->recorded.steps;
  ranked->times.resize(steps.size());
  const StepTimes times = step_times(result.iterations, samples);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    // Micro-batches in flight share the times of iterations.
    if (steps[i].visits == 0 || !std::isfinite(steps[i].median_ns)) continue;
    count_visits(visits_of(i, steps.size(), times), skip_throttled, steps[i], ranked->times[i]);
  }
  ranked->order = engine::slowest_steps(ranked->recorded, steps.size());
  ranked->timed = ranked->order.size();
  const auto unranked = std::ranges::stable_partition(ranked->order, [&](std::size_t step) {
    return ranked->times[step].visits == StepVisits::Counted;
  });
  rank(*ranked, std::span(ranked->order.begin(), unranked.begin()));
  std::vector<bool> listed(steps.size());
  for (const std::size_t step : ranked->order) listed[step] = true;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!listed[i]) ranked->order.push_back(i);
  }
  return ranked;
}

std::string slowest_words(const RankedSteps& ranked) {
  if (ranked.timed == 0) return "no step has a time of its own";
  if (!ranked.slowest.empty()) return "slowest: " + numbers_of(ranked, ranked.slowest);
  // No step is slower than these for certain, so the ranges of every two of them overlap.
  std::vector<std::size_t> first;
  std::size_t with_rank = 0;
  for (const std::size_t step : ranked.order) {
    if (ranked.times[step].rank > 0) ++with_rank;
    if (ranked.times[step].rank == 1) first.push_back(step);
  }
  if (first.size() == with_rank) return "slowest: not distinguishable";
  if (first.size() > kMostSlowest) {
    return fmt::format("slowest: {} steps cannot be told apart", first.size());
  }
  return fmt::format("slowest: one of {}, which cannot be told apart", numbers_of(ranked, first));
}

}  // namespace profiling
