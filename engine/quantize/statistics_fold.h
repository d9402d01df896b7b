// From raw counts and scale arrays to what a RunResult carries: histograms, the folded scale map,
// SNR. Host arrays in, plain values out; no CUDA, so both backends state their numerics the same
// way.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "engine/model/run_result.h"
#include "engine/quantize/operand_layout.h"
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

/// One count per scale (1 / scale_inv), without padding.
MagnitudeHistogram scale_histogram(const ScaleMapSource& source);
/// One count per block or tensor; `amax` is laid out as source.scale_inv is.
MagnitudeHistogram amax_histogram(const ScaleMapSource& source, const float* amax);

/// 10 log10(signal / noise): +inf when the noise is 0.
double snr_db(double signal, double noise);

struct QuantizationTotals {
  std::uint64_t saturated = 0;
  std::uint64_t underflowed = 0;
  double snr_db = 0.0;
};
QuantizationTotals total_quantization(std::span<const kernels::GroupQuantizationSums> sums);

ProductAccuracy product_accuracy(const kernels::GroupProductError& error);

// Folds scales one by one into the cells of a ScaleMap and into its summary, wherever they lie.

inline constexpr int kScaleMapCells = 512;  // most cells along either side of a ScaleMap

/// One scale and what became of the elements it covers.
struct FoldedScale {
  float scale_inv = 0.0F;
  std::int64_t row = 0;  // among the scales of the operand
  std::int64_t column = 0;
  std::int64_t elements = 0;  // that it covers: fewer at the edges
  kernels::BlockLosses losses = {0, 0};
};

class ScaleFolder {
 public:
  /// `geometry`: blocks, source sides and the experts' first rows; the rest is made here.
  /// `with_losses`: FoldedScale::losses were counted.
  ScaleFolder(ScaleMap geometry, bool with_losses);

  /// Scales that are not finite and above 0 count for nothing but their elements' losses.
  void add(const FoldedScale& scale);
  /// Call once, at the end.
  ScaleMap take();

 private:
  struct Cell {
    double sum = 0.0;      // of log2, less the pivot: equal scales deviate by exactly 0
    double squares = 0.0;  // of the same
    float pivot = 0.0F;
    std::int64_t scales = 0;
    std::int64_t elements = 0;
    std::uint64_t saturated = 0;
    std::uint64_t underflowed = 0;
  };
  static void add_exponent(float exponent, Cell& cell);
  static double mean(const Cell& cell);
  static double deviation(const Cell& cell);

  ScaleMap map_;
  bool with_losses_;
  std::vector<Cell> cells_;
  Cell all_;
  std::unordered_set<std::uint32_t> distinct_;  // bit patterns
};

// The scale map and histogram of an operand with one-byte scales, from the bytes and what
// quantization_statistics() counted beside them; elements and codes stay where they are.

struct MicroScaleFold {
  ScaleMap map;
  MagnitudeHistogram scale;  // one count per block: 1 / its factor
};

/// `scales` and `losses`: of all groups, padding included, in compact order; `amax`: [groups],
/// NVFP4 only. `splits`: rows of every group.
MicroScaleFold fold_micro_scales(const OperandLayout& layout, std::span<const std::int64_t> splits,
                                 std::int64_t columns, std::span<const std::uint8_t> scales,
                                 std::span<const kernels::MicroLosses> losses, const float* amax);

}  // namespace engine
