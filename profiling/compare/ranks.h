// What the order of samples alone can say, exactly and whatever their distribution. No CUDA.
#pragma once

#include <cstddef>
#include <span>

namespace profiling {

struct Interval {
  double low = 0.0;
  double high = 0.0;
  bool contains(double value) const { return low <= value && value <= high; }
};

/// Both ends NaN where `samples` are too few for the confidence (fewer than 7 at 0.975) or hold a
/// NaN. Unsorted samples.
Interval median_interval(std::span<const double> samples, double confidence);

/// Two-sided exact p of the rank-sum test between two small groups; ties get middle ranks and are
/// counted as they fall. 1 where a group is empty or the two together are more than
/// kMaxRankedBlocks.
inline constexpr std::size_t kMaxRankedBlocks = 64;
double rank_sum_p(std::span<const double> a, std::span<const double> b);

}  // namespace profiling
