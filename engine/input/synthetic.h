// Seeded operand values, counter based: element (row, column) is a pure function of (seed, role,
// layer, row, column), the same bits on every machine and in any reading order.
//
// Definition. key(row) = 64 bits of SplitMix64 over seed, role, layer, row. h(row, column) = a
// 32-bit mix of column and key (mix_column() in synthetic.cpp). From h:
//   Uniform      (signed h >> 8) * 2^-23: 2^24 equidistant values in [-1, 1).
//   Normal       sign = top bit, u = the other 31 bits, z = the standard normal quantile whose tail
//                probability is (u + 1/2) / 2^32, by linear interpolation between knots at 32
//                equal steps an octave of u + 1/2 (NormalTable). |z| reaches 6.3, no value is 0.
//   HeavyTailed  Normal, times 50 in columns whose own hash is 0 modulo 64.
//   NonFinite    Normal, but a second mix of h modulo 4096 of 0, 1, 2 gives +inf, -inf, NaN.
// Times the deviation (1, or 1/sqrt(k) for weights), rounded to the element type. No libm call and
// no contraction is involved.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/input/tensor_source.h"
#include "engine/model/run_request.h"

namespace engine {

struct SyntheticTensor {
  SyntheticInput input = {};
  OperandRole role = OperandRole::Activations;
  int layer = 0;
  std::uint64_t seed = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

std::unique_ptr<TensorSource> make_synthetic_source(const SyntheticTensor& tensor);

/// SplitMix64's finaliser: the hash behind everything derived from the seed.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// The biases of a step: no file contains them, so they are generated.

/// b of every expert, [num_experts, n]: normal values times 0.1 that depend on (seed, layer,
/// expert, column) alone; not yet rounded to the step's type.
std::vector<float> bias_values(const RunRequest& request, int layer);

// The standard normal quantile as a table: knots at 32 equal steps of every octave of the tail's
// counter, so that a float's exponent and top mantissa bits are the index. Built by + - * / and
// sqrt alone: the same bits on every IEEE machine.

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
