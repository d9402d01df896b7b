// The typical error of an operand's elements beside that of their sum: a few columns with outliers
// decide the sum of squares, and with it the SNR, whatever happens to all other elements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/diagnostics/channel_statistics.h"

namespace engine {

/// SNRs of blocks of kernels::kErrorBlock neighbours in a row (fewer at its end): 10 log10(sum x^2
/// / sum (x - decoded)^2), of finite elements. Blocks of zeros are left out; a block that comes
/// back exactly counts as +inf. Memory does not grow with the operand.
class BlockErrors {
 public:
  /// Some rows of the operand, host arrays; with what `args` say of channels.
  void add(kernels::ChannelStatisticsArgs args);
  /// As kernels::channel_statistics() counted on a device.
  void add(std::span<const std::uint64_t> counts);
  /// Median of all blocks that were added, to within kBlockErrorStepDb / 2; NaN without a block.
  double median_db() const;

 private:
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(kernels::kBlockErrorBins);
};

/// 10 log10(1 + 2^-kernels::kRatioBits), the widest bin.
inline constexpr double kBlockErrorStepDb = 0.0085;

}  // namespace engine
