// A binomial tail, summed from where it begins to matter.
#include "engine/model/median_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace engine {

double median_of(std::span<double> samples) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = samples.begin() + std::ssize(samples) / 2;
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2 == 1) return *middle;
  const double below = *std::max_element(samples.begin(), middle);
  return below == *middle ? below : 0.5 * (below + *middle);
}

double median_of(const std::vector<std::int64_t>& samples) {
  std::vector<double> copy(samples.begin(), samples.end());
  return median_of(std::span<double>(copy));
}

std::size_t median_interval_rank(std::size_t n, double wrong) {
  const double size = static_cast<double>(n);
  // Below this the tail is under 1e-80 and negligible.
  const double start = std::max(0.0, std::floor(0.5 * size - 10.0 * std::sqrt(size)));
  double k = start;
  double log_share = std::lgamma(size + 1.0) - std::lgamma(k + 1.0) - std::lgamma(size - k + 1.0) -
                     size * std::numbers::ln2;
  double tail = 0.0;
  while (k <= size) {
    tail += std::exp(log_share);
    if (2.0 * tail > wrong) break;
    log_share += std::log((size - k) / (k + 1.0));
    k += 1.0;
  }
  return static_cast<std::size_t>(k);
}

Interval median_interval(std::span<const double> samples, double confidence) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::size_t n = samples.size();
  if (n == 0 || std::ranges::any_of(samples, [](double one) { return std::isnan(one); })) {
    return {kNan, kNan};
  }
  const std::size_t rank = median_interval_rank(n, 1.0 - confidence);
  if (rank == 0) return {kNan, kNan};
  // Selected, not sorted: the window does it for 100,000 iterations between two frames.
  std::vector<double> reordered(samples.begin(), samples.end());
  const auto low = reordered.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  const auto high = reordered.begin() + static_cast<std::ptrdiff_t>(n - rank);
  std::nth_element(reordered.begin(), low, reordered.end());
  const double lowest = *low;  // the next selection moves it
  std::nth_element(low, high, reordered.end());
  return {lowest, *high};
}

}  // namespace engine
