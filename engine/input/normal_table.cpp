// Compiled without contraction, as synthetic.cpp: a fused multiply-add would change the last bit
// from one machine to another.
#include "engine/input/normal_table.h"

#include <cmath>

namespace engine {
namespace {

/// -ln(p) for p in (0, 0.5] by halving the range and an odd series; libm's log differs between
/// versions.
double minus_log(double p) {
  constexpr double kLn2 = 0.69314718055994530942;
  double result = 0.0;
  while (p < 0.75) {
    p *= 2.0;
    result += kLn2;
  }
  // p in [0.75, 1.5): ln p = 2 (t + t^3/3 + t^5/5 + ...) with t = (p-1)/(p+1), |t| <= 1/5.
  const double t = (p - 1.0) / (p + 1.0);
  double power = t;
  double series = 0.0;
  for (int odd = 1; odd <= 25; odd += 2) {
    series += power / odd;
    power *= t * t;
  }
  return result - 2.0 * series;
}

NormalTable build() {
  NormalTable table{};
  constexpr int kSteps = NormalTable::kSteps;
  const auto knot = [](int index) {
    const int exponent = NormalTable::kFirstExponent + index / kSteps;
    double counter = 1.0 + static_cast<double>(index % kSteps) / kSteps;
    // Powers of two scale exactly.
    for (int i = 0; i < exponent + 1; ++i) counter *= 2.0;
    const double p = counter * 0.5 * 0x1p-32;
    return p < 0.5 ? upper_tail_quantile(p) : 0.0;
  };
  for (int index = 0; index < NormalTable::kSize; ++index) {
    const auto at = static_cast<std::size_t>(index);
    table.value[at] = static_cast<float>(knot(index));
    table.slope[at] = static_cast<float>(knot(index + 1) - knot(index));
  }
  return table;
}

}  // namespace

double upper_tail_quantile(double p) {
  const double q = 0.5 - p;
  if (q <= 0.425) {
    const double r = 0.180625 - q * q;
    const double numerator =
        ((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179;
    const double denominator = ((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0;
    return q * numerator / denominator;
  }
  double r = std::sqrt(minus_log(p));
  if (r <= 5.0) {
    r -= 1.6;
    const double numerator =
        ((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777;
    const double denominator = (0.12021132975 * r + 0.73700164250) * r + 1.0;
    return numerator / denominator;
  }
  r -= 5.0;
  const double numerator =
      ((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150;
  const double denominator = (0.012258202635 * r + 0.24197894225) * r + 1.0;
  return numerator / denominator;
}

const NormalTable& normal_table() {
  static const NormalTable table = build();
  return table;
}

}  // namespace engine
