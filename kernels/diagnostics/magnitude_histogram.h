// One thread's magnitude histogram. Counts by exponent and two mantissa bits first and separates
// zeros and non-finite values at the end, so that the counting loop has no branches.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/diagnostics/statistics.h"

namespace kernels {

class MagnitudeHistogram {
 public:
  void add(const float* values, std::int64_t count);
  /// Adds to `counts` and starts over.
  void flush(MagnitudeCounts& counts);

 private:
  // Adjacent elements often fall into the same bin: four tables keep increments from waiting on
  // each other.
  static constexpr int kTables = 4;
  void fold();

  std::array<std::array<std::uint32_t, kMagnitudeBins>, kTables> recent_{};
  std::int64_t recent_count_ = 0;  // kept below 2^32, so that no 32-bit count can wrap
  std::array<std::uint64_t, kMagnitudeBins> total_{};
  std::uint64_t zeros_ = 0;
  std::uint64_t infinities_ = 0;
};

}  // namespace kernels
