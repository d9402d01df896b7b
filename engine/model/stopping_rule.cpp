#include "engine/model/stopping_rule.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/model/median_interval.h"

namespace engine {

bool StoppingRule::goes_on(int begun, std::span<const Iteration> finished,
                           std::int64_t elapsed_ns) {
  if (begun < mode_.iterations) return true;
  if (mode_.median_within == 0) return false;
  const bool late = static_cast<double>(elapsed_ns) >= 1e9 * mode_.time_limit_s;
  if (begun % cycle_ != 0 && begun < kMaxIterations && !late) return true;
  if (begun >= kMaxIterations || late) {
    // The samples since the last check may have been enough.
    end_ = known(finished) ? IterationEnd::Converged
           : late          ? IterationEnd::TimeLimit
                           : IterationEnd::MaxIterations;
    return false;
  }
  if (std::ssize(finished) < next_check_) return true;
  // Every check sorts all samples: each is 10 % later than the one before.
  const auto n = static_cast<int>(finished.size());
  next_check_ = n + std::max(1, n / 10);
  if (!known(finished)) return true;
  end_ = IterationEnd::Converged;
  return false;
}

bool StoppingRule::known(std::span<const Iteration> finished) {
  std::vector<double> samples;
  samples.reserve(finished.size());
  for (const Iteration& one : finished) samples.push_back(static_cast<double>(one.duration_ns));
  const Interval interval = median_interval(samples);
  if (std::isnan(interval.low)) return false;
  const double median = median_of(samples);
  const double wanted = mode_.median_within / 100 * median;
  const double found = std::max(interval.high - median, median - interval.low);
  if (found <= wanted) return true;
  // The interval shrinks with the root of the number.
  const double ratio = wanted > 0 ? found / wanted : kMaxIterations;
  const double needed = static_cast<double>(samples.size()) * ratio * ratio;
  expected_ = static_cast<int>(std::min(std::ceil(needed), double{kMaxIterations}));
  return false;
}

double StoppingRule::fraction(int finished, std::int64_t elapsed_ns) const {
  const double first = static_cast<double>(finished) / mode_.iterations;
  if (mode_.median_within == 0) return std::min(first, 1.0);
  // Share of the time limit, because the expected number of iterations may rise.
  return std::min(static_cast<double>(elapsed_ns) / (1e9 * mode_.time_limit_s), 1.0);
}

}  // namespace engine
