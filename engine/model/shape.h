// The geometry of one grouped product: Y_e[m_e, n] = X_e[m_e, k] * W_e[n, k]^T for every expert e.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "engine/model/fields.h"

namespace engine {

inline constexpr int kMaxExperts = 1024;
inline constexpr std::int64_t kMaxDimension = std::int64_t{1} << 24;
/// Limits of the steps of a recorded routing that a run replays, and of the splits of all of them.
inline constexpr int kMaxRecordedSteps = 4096;
inline constexpr std::int64_t kMaxRecordedSplits = std::int64_t{1} << 20;

/// The requested shape, before routing decides how many rows each expert gets.
struct ShapeSpec {
  std::string preset;  // name of a preset in assets, empty when typed by hand; a label, never
                       // looked up again
  int num_experts = 8;
  std::int64_t rows = 1024;  // of X: routed (token, expert) pairs, the sum of all splits; of a
                             // recorded routing as many as its largest step has, or more
  std::int64_t n = 512;      // output features
  std::int64_t k = 512;      // input features, the reduction dimension of fprop

  bool operator==(const ShapeSpec&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&ShapeSpec::preset>(),
        engine::field<&ShapeSpec::num_experts>({.low = 1, .high = kMaxExperts, .also = "experts"}),
        engine::field<&ShapeSpec::rows>({.low = 0, .high = kMaxDimension, .formerly = "tokens"}),
        engine::field<&ShapeSpec::n>({.low = 1, .high = kMaxDimension}),
        engine::field<&ShapeSpec::k>({.low = 1, .high = kMaxDimension})};
  }
  Flaw flaw() const;
};

/// A shape whose routing is known. splits[e] = m_e >= 0; experts with 0 rows are legal anywhere.
struct GroupedShape {
  std::vector<std::int64_t> splits;
  std::int64_t n = 0;
  std::int64_t k = 0;

  int num_experts() const { return static_cast<int>(splits.size()); }
  std::int64_t sum_m() const {
    return std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  }
  /// 2 * m * n * k useful FLOP of one product over all experts, padding not counted.
  double flop() const {
    return 2.0 * static_cast<double>(sum_m()) * static_cast<double>(n) * static_cast<double>(k);
  }
};

}  // namespace engine
