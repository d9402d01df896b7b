// Exact, distribution-free statistics from the order of samples alone. No CUDA.
#pragma once

#include <cstddef>
#include <span>

namespace profiling {

struct Interval {
  double low = 0.0;
  double high = 0.0;
  bool contains(double value) const { return low <= value && value <= high; }
};

/// Both ends NaN if there are too few `samples` for the confidence (fewer than 7 at 0.975) or one
/// is NaN. The samples need not be sorted.
Interval median_interval(std::span<const double> samples, double confidence);

/// Two-sided exact p of the rank-sum test between two small groups; ties get midranks and are
/// counted exactly. 1 if a group is empty or the two together exceed kMaxRankedBlocks.
inline constexpr std::size_t kMaxRankedBlocks = 64;
double rank_sum_p(std::span<const double> a, std::span<const double> b);

}  // namespace profiling
