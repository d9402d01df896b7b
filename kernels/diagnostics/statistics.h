// Statistics over operands and products that leave the tensors in place: histograms, error sums,
// checksums. The CUDA versions read tensors of any size on the device; only a few KiB are copied to
// the host.
#pragma once

#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/dequantize/quantized_view.h"
#include "kernels/diagnostics/channel_statistics.h"

namespace kernels {

inline constexpr int kMagnitudeBins =
    1024;  // FP32 bits (sign cleared) >> 21: four bins per power of two

/// Raw counts; infinities, NaNs and zeros are counted separately from `bins`.
struct MagnitudeCounts {
  std::uint64_t bins[kMagnitudeBins];
  std::uint64_t zeros;
  std::uint64_t infinities;
  std::uint64_t nans;
};

inline void add_counts(const MagnitudeCounts& more, MagnitudeCounts& counts) {
  for (int bin = 0; bin < kMagnitudeBins; ++bin) counts.bins[bin] += more.bins[bin];
  counts.zeros += more.zeros;
  counts.infinities += more.infinities;
  counts.nans += more.nans;
}

/// Effects of quantization on one group. Sums over elements whose input and decoded value are
/// finite.
struct GroupQuantizationSums {
  double signal;              // sum of x^2
  double noise;               // sum of (x - decoded)^2
  std::uint64_t saturated;    // finite or infinite x that is_saturated(); NaN is not counted
  std::uint64_t underflowed;  // x is finite and not 0, decoded to 0
  std::uint64_t elements;     // included in the sums
  std::uint64_t lost;         // x is finite, decoded is not
  std::uint64_t undefined;    // x is not finite
  float max_ulp = 0.0F;       // largest |x - decoded|, in units in the last place of the code;
                              // 0 without codes. Accumulated as a maximum
};

inline void add_sums(const GroupQuantizationSums& more, GroupQuantizationSums& sum) {
  sum.signal += more.signal;
  sum.noise += more.noise;
  sum.saturated += more.saturated;
  sum.underflowed += more.underflowed;
  sum.elements += more.elements;
  sum.lost += more.lost;
  sum.undefined += more.undefined;
  sum.max_ulp = more.max_ulp > sum.max_ulp ? more.max_ulp : sum.max_ulp;
}

/// Losses among the elements that share one FP32 scale.
struct BlockLosses {
  std::uint64_t saturated;
  std::uint64_t underflowed;
};

/// Losses among the elements of a row that share one byte scale: 32 or 16, so that counts fit in a
/// byte. Beside the scales they take an eighth or a sixteenth of the codes' size.
struct MicroLosses {
  std::uint8_t saturated;
  std::uint8_t underflowed;
};

struct QuantizationStatisticsArgs {
  GroupedInput input = {};       // no activation
  QuantizedView quantized = {};  // of `input`: rowwise, no Hadamard transform. Without codes: not
                                 // quantized, `after` equals `before` and the sums have no noise
  MagnitudeCounts* before = nullptr;      // added to, caller zeroes
  MagnitudeCounts* after = nullptr;       // added to, caller zeroes
  GroupQuantizationSums* sums = nullptr;  // [num_groups], added to, caller zeroes
  // Losses, optional and laid out as the scales:
  BlockLosses* losses = nullptr;        // of FP32 scales; added to, caller zeroes
  MicroLosses* micro_losses = nullptr;  // of byte scales; written where a scale covers elements
  // Both or none: their `saturated` is added to, the rest belongs to channel_statistics().
  ChannelSums* columns = nullptr;  // [columns]
  ChannelSums* rows = nullptr;     // [capacity_rows], of all groups
};

/// Error of one group's product. Sums over elements where both values are finite.
struct GroupProductError {
  double reference_squares;
  double error_squares;
  double max_abs_error;
  std::uint64_t elements;   // included in the sums
  std::uint64_t lost;       // the reference is finite, the product is not
  std::uint64_t undefined;  // the reference is not finite
};

inline void add_errors(const GroupProductError& more, GroupProductError& sum) {
  sum.reference_squares += more.reference_squares;
  sum.error_squares += more.error_squares;
  sum.max_abs_error =
      more.max_abs_error > sum.max_abs_error ? more.max_abs_error : sum.max_abs_error;
  sum.elements += more.elements;
  sum.lost += more.lost;
  sum.undefined += more.undefined;
}

struct ProductErrorArgs {
  const void* product = nullptr;  // [capacity_rows, columns] of product_type
  InputType product_type = InputType::Bf16;
  const float* reference = nullptr;  // [capacity_rows, columns] FP32
  const std::int64_t* row_offsets = nullptr;
  int num_groups = 0;
  std::int64_t capacity_rows = 0;
  std::int64_t columns = 0;
  GroupProductError* errors = nullptr;  // [num_groups], added to, caller zeroes
};

/// Order-independent 64-bit checksum of each group's bits: equal tensors give equal sums in any
/// launch shape.
struct GroupChecksumArgs {
  const void* values = nullptr;  // [capacity_rows, columns] 16-bit elements
  const std::int64_t* row_offsets = nullptr;
  int num_groups = 0;
  std::int64_t capacity_rows = 0;
  std::int64_t columns = 0;
  std::uint64_t* checksums = nullptr;  // [num_groups], added to, caller zeroes
};

/// Counts of a plain FP32 array (scales, amax).
void magnitude_counts_cpu(const float* values, std::int64_t count, MagnitudeCounts& counts);
void quantization_statistics_cpu(const QuantizationStatisticsArgs& args);
void product_error_cpu(const ProductErrorArgs& args);
void group_checksum_cpu(const GroupChecksumArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// cudaErrorInvalidValue for arguments that QuantizationStatisticsArgs does not allow.
cudaError_t quantization_statistics(const QuantizationStatisticsArgs& args, cudaStream_t stream);
cudaError_t product_error(const ProductErrorArgs& args, cudaStream_t stream);
cudaError_t group_checksum(const GroupChecksumArgs& args, cudaStream_t stream);
#endif

/// The term that one element adds to its group's checksum. A bijection of (index, value), for
/// indices below 2^48, that spreads a change of any bit over all 64 (the finalizer of SplitMix64):
/// moved or swapped elements change the sum too.
KERNELS_HOST_DEVICE constexpr std::uint64_t checksum_term(std::uint64_t index,
                                                          std::uint16_t value) {
  std::uint64_t mixed = ((index << 16) | value) + 0x9E3779B97F4A7C15ULL;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
  return mixed ^ (mixed >> 31);
}

}  // namespace kernels
