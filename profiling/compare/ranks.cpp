// Both computations are exact: a binomial tail, and a count over all rank permutations.
#include "profiling/compare/ranks.h"
#include "profiling/trace/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

namespace profiling {
namespace {

/// Largest r with 2 P(Binomial(n, 1/2) <= r - 1) <= wrong; 0 = none.
std::size_t rank_of_interval(std::size_t n, double wrong) {
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

/// Twice the midranks, so that ties stay integers.
std::vector<std::size_t> doubled_ranks(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::vector<double> sorted = all;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::size_t> ranks;
  for (const double value : all) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    ranks.push_back(static_cast<std::size_t>((first - sorted.begin()) + (last - sorted.begin())) +
                    1);
  }
  return ranks;
}

}  // namespace

Interval median_interval(std::span<const double> samples, double confidence) {
  const std::size_t n = samples.size();
  if (n == 0 || std::ranges::any_of(samples, [](double one) { return std::isnan(one); })) {
    return {kNaN, kNaN};
  }
  const std::size_t rank = rank_of_interval(n, 1.0 - confidence);
  if (rank == 0) return {kNaN, kNaN};
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return {sorted[rank - 1], sorted[n - rank]};
}

double rank_sum_p(std::span<const double> a, std::span<const double> b) {
  const std::size_t n = a.size() + b.size();
  if (a.empty() || b.empty() || n > kMaxRankedBlocks) return 1.0;
  const std::vector<std::size_t> ranks = doubled_ranks(a, b);
  std::size_t sum_all = 0;
  std::size_t sum_a = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum_all += ranks[i];
    if (i < a.size()) sum_a += ranks[i];
  }
  // ways[k][s]: choices of k ranks that sum to s.
  std::vector<std::vector<double>> ways(a.size() + 1, std::vector<double>(sum_all + 1, 0.0));
  ways[0][0] = 1.0;
  for (const std::size_t rank : ranks) {
    for (std::size_t k = a.size(); k > 0; --k) {
      for (std::size_t s = sum_all; s >= rank; --s) ways[k][s] += ways[k - 1][s - rank];
    }
  }
  double all = 0.0;
  double low = 0.0;
  double high = 0.0;
  for (std::size_t s = 0; s <= sum_all; ++s) {
    const double count = ways[a.size()][s];
    all += count;
    if (s <= sum_a) low += count;
    if (s >= sum_a) high += count;
  }
  return std::min(1.0, 2.0 * std::min(low, high) / all);
}

}  // namespace profiling
