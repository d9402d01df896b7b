// Errors of short blocks of neighbours, counted by their signal-to-noise ratio: the median over
// blocks is the error of the typical element, which a few large ones do not decide. Host and device
// count the same.
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

struct BlockErrorArgs {
  GroupedInput input = {};          // no activation
  const float* decoded = nullptr;   // [capacity_rows, columns]; null = all come back exactly
  std::uint64_t* counts = nullptr;  // [kBlockErrorBins], added to
};

/// Sums of one block, over its elements that are finite and come back finite.
struct BlockErrorSums {
  double signal = 0.0;
  double noise = 0.0;

  /// Squares of FP32 values are exact in FP64: a fused multiply-add changes nothing.
  KERNELS_HOST_DEVICE void add(float x, float decoded) {
    const float error = x - decoded;
    // This also rejects an infinite or NaN element.
    if (!(error - error == 0.0F)) return;
    signal += static_cast<double>(x) * static_cast<double>(x);
    noise += static_cast<double>(error) * static_cast<double>(error);
  }
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

/// The last block of a row may be shorter.
void block_errors_cpu(const BlockErrorArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// Input and decoded values aligned to 16 bytes.
cudaError_t block_errors(const BlockErrorArgs& args, cudaStream_t stream);
#endif

}  // namespace kernels
