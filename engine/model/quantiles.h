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

}  // namespace engine
