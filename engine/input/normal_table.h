// The standard normal quantile as a table: knots at 32 equal steps of every octave of the tail's
// counter, so that a float's exponent and top mantissa bits are the index. Built by + - * / and
// sqrt alone: the same bits on every IEEE machine.
#pragma once

#include <array>

namespace engine {

struct NormalTable {
  static constexpr int kStepsLog2 = 5;
  static constexpr int kSteps = 1 << kStepsLog2;
  static constexpr int kFirstExponent = -1;  // the counter u + 1/2 starts at 1/2 ...
  static constexpr int kLastExponent = 31;   // ... and may round up to 2^31
  static constexpr int kSize = (kLastExponent - kFirstExponent + 1) * kSteps;

  alignas(64) std::array<float, kSize> value;
  alignas(64) std::array<float, kSize> slope;  // to the next knot
};

const NormalTable& normal_table();

/// Standard normal quantile of tail probability p in (0, 0.5]: z >= 0 with P(Z > z) = p. About 7
/// digits (Wichura, algorithm AS 241, single-precision variant).
double upper_tail_quantile(double p);

}  // namespace engine
