// From raw counts and scale arrays to what a RunResult carries: histograms, the folded scale map,
// SNR. Host arrays in, plain values out; no CUDA, so both backends state their numerics the same
// way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/run_result.h"
#include "engine/quantize/operand_layout.h"
#include "engine/quantize/scale_folder.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {

/// One operand's FP32 scales on the host, laid out as scale_grid() says. Groups without rows have
/// no scale that any element used: they are left out of maps and histograms.
struct ScaleMapSource {
  const float* scale_inv = nullptr;
  OperandLayout layout = {};                     // rowwise
  std::vector<std::int64_t> splits = {};         // rows per group
  std::int64_t columns = 0;                      // data columns
  const kernels::BlockLosses* losses = nullptr;  // optional, laid out as scale_inv
};

/// Floats that an array of this layout, with these splits, spans (padding included).
std::int64_t scale_count(const ScaleMapSource& source);

/// At most kScaleMapCells x kScaleMapCells cells; every source scale falls in exactly one cell. A
/// cell without a finite positive scale is NaN. expert_first_row counts source rows. For PerTensor
/// the map has one row a non-empty group and block_rows is the largest group's rows.
ScaleMap fold_scale_map(const ScaleMapSource& source);

/// Drops the empty bins at both ends.
MagnitudeHistogram to_histogram(const kernels::MagnitudeCounts& counts);

/// One count a scale (1 / scale_inv), padding left out.
MagnitudeHistogram scale_histogram(const ScaleMapSource& source);
/// One count a block or tensor; `amax` is laid out as source.scale_inv is.
MagnitudeHistogram amax_histogram(const ScaleMapSource& source, const float* amax);

/// 10 log10(signal / noise): +inf when the noise is 0.
double snr_db(double signal, double noise);

struct QuantizationTotals {
  std::uint64_t saturated = 0;
  std::uint64_t underflowed = 0;
  double snr_db = 0.0;
};
QuantizationTotals total_quantization(std::span<const kernels::GroupQuantizationSums> sums);

struct ProductAccuracy {
  double snr_db = 0.0;  // NaN if no element of the reference was finite
  double max_abs_error = 0.0;
  double reference_rms = 0.0;
};
ProductAccuracy product_accuracy(const kernels::GroupProductError& error);

}  // namespace engine
