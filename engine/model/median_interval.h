// How well the median of samples is known: the order statistics x(r) and x(n+1-r) hold the
// population's median with probability 1 - 2 P(Binomial(n, 1/2) <= r - 1), whatever the
// distribution (H. A. David and H. N. Nagaraja, Order Statistics, 3rd edition, section 7.1; the
// same as R's and SciPy's sign-test interval). Exact for independent samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace engine {

/// Median; the mean of the middle two if the number is even, infinite if both are. NaN without
/// samples. Reorders the samples, none of which may be NaN.
double median_of(std::span<double> samples);
double median_of(const std::vector<std::int64_t>& samples);

struct Interval {
  double low = 0.0;
  double high = 0.0;
  bool contains(double value) const { return low <= value && value <= high; }
};

inline constexpr double kConfidence = 0.95;  // of an interval that is shown

/// Both ends NaN if there are too few `samples` for the confidence (fewer than 6 at 0.95) or one
/// is NaN. The samples need not be sorted.
Interval median_interval(std::span<const double> samples, double confidence = kConfidence);

/// The rank r of the interval's ends in n sorted samples, from 1: the largest with
/// 2 P(Binomial(n, 1/2) <= r - 1) <= wrong; 0 = there are too few samples.
std::size_t median_interval_rank(std::size_t n, double wrong);

}  // namespace engine
