// From raw counts and scales to what a RunResult carries: histograms, the scale map, SNR. Host
// arrays in, plain values out; no CUDA, so both backends state their numerics the same way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/run_result.h"
#include "engine/quantize/operand_layout.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {

inline constexpr int kScaleMapCells = 512;  // most cells along either side of a ScaleMap

/// What quantizing an operand left beside its codes, on the host. Groups without rows have no scale
/// that any element used: they are left out of maps and histograms.
struct ScaleArrays {
  OperandLayout layout = {};
  std::span<const std::int64_t> splits = {};  // rows of every group
  std::int64_t columns = 0;
  const void* scales = nullptr;  // floats or bytes, see scale_grid(); null = not quantized
  const float* amax = nullptr;   // of FP32 scales: laid out as they are, or null; NVFP4: [groups];
                                 // MXFP8: not read
};

/// The factor that decodes the codes under a scale.
float scale_factor(const ScaleArrays& arrays, const ScalePlace& place);

/// What kernels::quantization_statistics() counts.
struct OperandCounts {
  kernels::MagnitudeCounts before = {};
  kernels::MagnitudeCounts after = {};
  std::vector<kernels::GroupQuantizationSums> sums = {};  // [groups]
  // Laid out as the scales; one of them, or none where losses were not counted by scale:
  std::vector<kernels::BlockLosses> losses = {};
  std::vector<kernels::MicroLosses> micro_losses = {};
  // Both, or none where channels were not measured:
  std::vector<kernels::ChannelSums> columns = {};  // [columns]
  std::vector<kernels::ChannelSums> rows = {};     // of all groups
};

/// Zeros, with the losses that the kernel counts for this layout, and with channels. The arrays are
/// not read.
OperandCounts zero_counts(const ScaleArrays& arrays);

/// The map has at most kScaleMapCells x kScaleMapCells cells; every scale falls in exactly one. A
/// cell without a finite positive scale is NaN. expert_first_row counts scales. With one scale per
/// tensor the map has one row a non-empty group and block_rows is the largest group's rows.
OperandStatistics fold_statistics(const OperandCounts& counts, const ScaleArrays& arrays);

/// Drops the empty bins at both ends.
MagnitudeHistogram to_histogram(const kernels::MagnitudeCounts& counts);

/// 10 log10(signal / noise): +inf when the noise is 0.
double snr_db(double signal, double noise);
/// NaN when no element is left.
double snr_db(const kernels::GroupQuantizationSums& sums);

/// Every expert's part of an operand of a run.
std::vector<OperandExpert> operand_experts(const OperandCounts& counts,
                                           std::span<const std::int64_t> splits, bool quantized);

/// What quantizing its X did to an expert; the products' errors are not yet measured.
ExpertResult expert_result(std::int64_t rows, const kernels::GroupQuantizationSums& x,
                           bool quantized);

ProductAccuracy product_accuracy(const kernels::GroupProductError& error);

}  // namespace engine
