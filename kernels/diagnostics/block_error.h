// Errors of short blocks of neighbours, counted by their signal-to-noise ratio: the median over
// blocks is the error of the typical element, which a few large ones do not decide. Counted by
// channel_statistics(), the same on host and device.
#pragma once

#include <cstdint>

#include "kernels/common/types.h"

namespace kernels {

/// Neighbours in a row whose error is measured together: the shortest line that a recipe scales.
inline constexpr int kErrorBlock = 16;

// A ratio of FP64 is counted by its exponent and the first kRatioBits of its mantissa, so that no
// logarithm has to be the same on both sides: at most 0.0085 dB per bin. Smaller and larger ones
// count in the first and the last finite bin.
inline constexpr int kRatioBits = 9;
inline constexpr int kSmallestRatioExponent = -40;
inline constexpr int kRatioExponents = 170;
inline constexpr int kFiniteRatioBins = kRatioExponents << kRatioBits;
inline constexpr int kErrorFreeBin = kFiniteRatioBins;  // of blocks that come back exactly
inline constexpr int kBlockErrorBins = kFiniteRatioBins + 1;

/// Sums of squares of one block, over its elements that are finite and come back finite.
struct BlockErrorSums {
  double signal = 0.0;
  double noise = 0.0;

  /// -1 for a block of zeros, which is not counted.
  KERNELS_HOST_DEVICE int bin() const {
    if (!(signal > 0.0)) return -1;
    if (noise == 0.0) return kErrorFreeBin;
    const double ratio = signal / noise;
#ifdef __CUDA_ARCH__
    const auto bits = static_cast<std::int64_t>(__double_as_longlong(ratio));
#else
    const auto bits = __builtin_bit_cast(std::int64_t, ratio);
#endif
    constexpr std::int64_t kFirst = std::int64_t{1023 + kSmallestRatioExponent} << kRatioBits;
    const std::int64_t bin = (bits >> (52 - kRatioBits)) - kFirst;
    if (bin < 0) return 0;
    return bin < kFiniteRatioBins ? static_cast<int>(bin) : kFiniteRatioBins - 1;
  }
};

}  // namespace kernels
