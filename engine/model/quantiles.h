// Quantiles of measured times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace engine {

/// Of sorted values, at least one, with linear interpolation.
inline double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - std::floor(at));
}

/// The same for unsorted values, at least one, without sorting them all.
inline double quantile_of(std::vector<double> values, double q) {
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(values.begin(), below, values.end());
  const auto above = std::min_element(below + 1, values.end());
  return above == values.end() ? *below : std::lerp(*below, *above, at - std::floor(at));
}

}  // namespace engine
