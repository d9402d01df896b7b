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
  if (begun >= kMaxIterations) {
    end_ = IterationEnd::Most;
    return false;
  }
  if (static_cast<double>(elapsed_ns) >= 1e9 * mode_.time_limit_s) {
    end_ = IterationEnd::TimeLimit;
    return false;
  }
  if (std::ssize(finished) < next_check_) return true;
  // Every check sorts all samples: each is 10 % later than the one before.
  const auto n = static_cast<int>(finished.size());
  next_check_ = n + std::max(1, n / 10);
  if (!known(finished)) return true;
  end_ = IterationEnd::Known;
  return false;
}

bool StoppingRule::known(std::span<const Iteration> finished) {
  std::vector<double> samples;
  samples.reserve(finished.size());
  for (const Iteration& one : finished) samples.push_back(static_cast<double>(one.duration_ns));
  const Interval interval = median_interval(samples);
  if (std::isnan(interval.low)) return false;
  const auto middle = samples.begin() + std::ssize(samples) / 2;
  std::nth_element(samples.begin(), middle, samples.end());
  const double wanted = mode_.median_within / 100 * *middle;
  const double found = std::max(interval.high - *middle, *middle - interval.low);
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
  // Of the time that it may take: the expected number may rise.
  return std::min(static_cast<double>(elapsed_ns) / (1e9 * mode_.time_limit_s), 1.0);
}

}  // namespace engine
