// Effects of quantization on an operand with one-byte scales (MXFP8, NVFP4): the sums and
// histograms of statistics.h, and the losses of every block, stored alongside the scales at an
// eighth or a sixteenth of the codes' size, so that a tensor of any size stays on the device.
#pragma once

#include "kernels/dequantize/quantized_view.h"
#include "kernels/diagnostics/statistics.h"

namespace kernels {

/// Losses among the elements of a row that share a scale: 32 or 16, so that counts fit in a byte.
struct MicroLosses {
  std::uint8_t saturated;    // |x| > factor * largest code * (1 + 2^-22); factor > 0
  std::uint8_t underflowed;  // x != 0 and finite, decoded to 0
};

struct MicroStatisticsArgs {
  GroupedInput input;       // no activation
  QuantizedView quantized;  // of `input`: rowwise, Mx1x32 to Nv16x16, no Hadamard transform
  MagnitudeCounts* before = nullptr;      // added to, caller zeroes
  MagnitudeCounts* after = nullptr;       // added to, caller zeroes
  GroupQuantizationSums* sums = nullptr;  // [num_groups], added to, caller zeroes; their counts are
                                          // those of MicroLosses
  MicroLosses* losses = nullptr;  // optional, laid out as the scales; written where a scale covers
                                  // elements
};

void micro_statistics_cpu(const MicroStatisticsArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// cudaErrorInvalidValue for arguments that MicroStatisticsArgs does not allow.
cudaError_t micro_statistics(const MicroStatisticsArgs& args, cudaStream_t stream);
#endif

}  // namespace kernels
