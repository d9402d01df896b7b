// The typical error of an operand's elements beside that of their sum: a few columns with outliers
// decide the sum of squares, and with it the SNR, whatever happens to all other elements. Host
// arrays, so both backends state it the same way.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/types.h"

namespace engine {

/// SNRs of blocks of kErrorBlock neighbours in a row (fewer at its end): 10 log10(sum x^2 / sum (x
/// - decoded)^2), of finite elements. Blocks of zeros are left out; a block that comes back exactly
/// counts as +inf. Does not depend on the number of threads. Memory does not grow with the operand.
class BlockErrors {
 public:
  /// Some rows of the operand. `decoded`: [rows, columns]; null = all of them come back exactly.
  void add(const kernels::GroupedInput& input, const float* decoded);
  /// Of all that was added, to within kBlockErrorStepDb / 2; NaN without any block.
  double median_db() const;

 private:
  /// Its middle; of the last one +inf.
  static double value_of_bin(std::size_t bin);

  std::vector<std::uint64_t> counts_;  // by bin; empty = nothing was added
  std::uint64_t blocks_ = 0;
};

inline constexpr double kBlockErrorStepDb = 1.0 / 256.0;

}  // namespace engine
