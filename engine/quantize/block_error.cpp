#include "engine/quantize/block_error.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "engine/model/operand_statistics.h"

namespace engine {
namespace {

static_assert(kErrorBlock == kernels::kErrorBlock);

/// Its middle.
double decibels_of_bin(int bin) {
  if (bin == kernels::kErrorFreeBin) return std::numeric_limits<double>::infinity();
  constexpr int kSteps = 1 << kernels::kRatioBits;
  const double mantissa = 1.0 + (bin % kSteps + 0.5) / kSteps;
  return 10.0 * std::log10(std::ldexp(mantissa, bin / kSteps + kernels::kSmallestRatioExponent));
}

}  // namespace

void BlockErrors::add(kernels::ChannelStatisticsArgs args) {
  args.block_counts = counts_.data();
  kernels::channel_statistics_cpu(args);
}

void BlockErrors::add(std::span<const std::uint64_t> counts) {
  for (std::size_t bin = 0; bin < counts_.size(); ++bin) counts_[bin] += counts[bin];
}

double BlockErrors::median_db() const {
  const std::uint64_t blocks = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  if (blocks == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto value_at = [&](std::uint64_t rank) {
    std::uint64_t below = 0;
    int bin = 0;
    while ((below += counts_[static_cast<std::size_t>(bin)]) <= rank) ++bin;
    return decibels_of_bin(bin);
  };
  // Between the middle two of an even number.
  return (value_at((blocks - 1) / 2) + value_at(blocks / 2)) / 2.0;
}

}  // namespace engine
