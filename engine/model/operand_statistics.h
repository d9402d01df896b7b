// What quantization did to one operand, and a product's error: counts, histograms, scale maps, SNR.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "engine/model/channel_statistics.h"
#include "engine/model/fields.h"
#include "engine/model/shape.h"

namespace engine {

inline constexpr int kHistogramBins = 1024;  // FP32 bits without sign, shifted right by 21
inline constexpr int kMaxMapSide = 512;      // cells of a scale map

/// Counts of magnitudes. Bin b of `counts` holds |x| whose FP32 bit pattern (sign cleared) shifted
/// right by 21 is first_bin + b: four bins per power of two, split evenly in the mantissa. Zeros
/// and non-finite values are counted separately.
struct MagnitudeHistogram {
  int first_bin = 0;
  std::vector<std::uint64_t> counts;
  std::uint64_t zeros = 0;
  std::uint64_t infinities = 0;
  std::uint64_t nans = 0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&MagnitudeHistogram::first_bin>({.low = 0, .high = kHistogramBins}),
        engine::field<&MagnitudeHistogram::counts>(
            {.low = 0, .high = kMaxCount, .most = kHistogramBins}),
        engine::field<&MagnitudeHistogram::zeros>(kCount),
        engine::field<&MagnitudeHistogram::infinities>(kCount),
        engine::field<&MagnitudeHistogram::nans>(kCount)};
  }
  Flaw flaw() const;
};

/// All scales of an operand in a few figures, taken before any folding. All 0: not measured.
struct ScaleSummary {
  std::uint64_t scales = 0;       // finite and above 0
  std::uint64_t distinct = 0;     // different values among them
  double mean = 0.0;              // of log2 of scale_inv
  double deviation = 0.0;         // of the same: standard deviation of the population
  std::uint64_t saturated = 0;    // scales with at least one saturated element
  std::uint64_t underflowed = 0;  // scales with at least one element that became zero
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ScaleSummary::scales>(kCount),
                      engine::field<&ScaleSummary::distinct>(kCount),
                      engine::field<&ScaleSummary::mean>(),
                      engine::field<&ScaleSummary::deviation>(),
                      engine::field<&ScaleSummary::saturated>(kCount),
                      engine::field<&ScaleSummary::underflowed>(kCount)};
  }
};

/// Block scales folded to at most kMaxMapSide x kMaxMapSide cells for a texture. Cell values are
/// log2 of scale_inv; NaN where no scale of the cell is finite and above 0.
struct ScaleMap {
  /// Data rows one scale covers (1, 16, 32 or 128); the largest expert's rows for per-tensor.
  std::int64_t block_rows = 0;
  std::int64_t block_columns = 0;  // data columns one scale covers (16 to 128); k for per-tensor
  std::int64_t source_rows = 0;    // scales along the rows before folding
  std::int64_t source_columns = 0;
  int rows = 0;
  int columns = 0;
  std::vector<float> mean;     // [rows, columns]
  std::vector<float> maximum;  // [rows, columns]
  std::vector<std::int64_t>
      expert_first_row;  // [num_experts + 1], in cells' rows scaled to source_rows
  /// The rest is empty if not measured.
  std::vector<float> minimum = {};            // [rows, columns]
  std::vector<float> deviation = {};          // [rows, columns], standard deviation in a cell
  std::vector<float> saturated_share = {};    // [rows, columns], of the elements of a cell: 0 to 1
  std::vector<float> underflowed_share = {};  // [rows, columns]
  ScaleSummary summary = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&ScaleMap::block_rows>(
            {.low = 0, .high = double{kMaxDimension} * kMaxExperts}),
        engine::field<&ScaleMap::block_columns>(
            {.low = 0, .high = double{kMaxDimension} * kMaxExperts}),
        engine::field<&ScaleMap::source_rows>(
            {.low = 0, .high = double{kMaxDimension} * kMaxExperts}),
        engine::field<&ScaleMap::source_columns>(
            {.low = 0, .high = double{kMaxDimension} * kMaxExperts}),
        engine::field<&ScaleMap::rows>({.low = 0, .high = kMaxMapSide}),
        engine::field<&ScaleMap::columns>({.low = 0, .high = kMaxMapSide}),
        engine::field<&ScaleMap::mean>({.most = kMaxMapSide * kMaxMapSide}),
        engine::field<&ScaleMap::maximum>({.most = kMaxMapSide * kMaxMapSide}),
        engine::field<&ScaleMap::expert_first_row>({.most = kMaxExperts + 1}),
        engine::field<&ScaleMap::minimum>({.most = kMaxMapSide * kMaxMapSide}),
        engine::field<&ScaleMap::deviation>({.most = kMaxMapSide * kMaxMapSide}),
        engine::field<&ScaleMap::saturated_share>({.most = kMaxMapSide * kMaxMapSide}),
        engine::field<&ScaleMap::underflowed_share>({.most = kMaxMapSide * kMaxMapSide}),
        engine::field<&ScaleMap::summary>()};
  }
  Flaw flaw() const;
};

/// Neighbours in a row whose error is measured together (kernels::kErrorBlock).
inline constexpr int kErrorBlock = 16;

/// Quantization of one expert's part of an operand.
struct OperandExpert {
  std::int64_t rows = 0;
  double snr_db = std::numeric_limits<double>::quiet_NaN();  // as OperandStatistics::snr_db
  /// Largest error in units in the last place of the codes: 0.5 is correct rounding. NaN where
  /// nothing was quantized.
  double max_ulp = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t saturated = 0;
  std::uint64_t underflowed = 0;
  std::uint64_t lost = 0;
  std::uint64_t undefined = 0;
  std::uint64_t left_out() const { return lost + undefined; }
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&OperandExpert::rows>({.low = 0, .high = kMaxDimension}),
                      engine::field<&OperandExpert::snr_db>(),
                      engine::field<&OperandExpert::max_ulp>(),
                      engine::field<&OperandExpert::saturated>(kCount),
                      engine::field<&OperandExpert::underflowed>(kCount),
                      engine::field<&OperandExpert::lost>(kCount),
                      engine::field<&OperandExpert::undefined>(kCount)};
  }
};

/// Quantization of one operand of layer 0, all experts together.
struct OperandStatistics {
  MagnitudeHistogram before;  // |x|
  MagnitudeHistogram after;   // |dequantized x|
  MagnitudeHistogram amax;    // one count per scale; empty for BF16
  MagnitudeHistogram
      scale;  // the quantization scale (not its inverse), one count per scale; empty for BF16
  ScaleMap scale_map;  // empty for BF16
  std::uint64_t elements = 0;
  std::uint64_t saturated = 0;    // |x * scale| above the format's largest finite value
  std::uint64_t underflowed = 0;  // x != 0 became 0
  std::uint64_t lost = 0;         // finite x whose code decodes to inf or NaN
  std::uint64_t undefined = 0;    // x itself is inf or NaN
  /// 10 log10(sum x^2 / sum (x - dequantized)^2) over all but left_out(): +inf if they are exact,
  /// NaN if there are none.
  double snr_db = 0.0;
  /// Error of the typical element, which a few large ones do not decide, as they decide snr_db:
  /// median over blocks of kErrorBlock neighbours in a row of a block's own SNR, blocks of
  /// zeros left out. NaN: no such block, or a recording that does not have it.
  double median_block_snr_db = std::numeric_limits<double>::quiet_NaN();
  /// Statistics by number of the expert; empty in a comparison, whose reports have their own.
  std::vector<OperandExpert> experts = {};
  /// None: a comparison, whose reports do not have them, or a recording from before they were
  /// measured.
  std::optional<ChannelStatistics> channels = {};
  std::uint64_t left_out() const { return lost + undefined; }
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&OperandStatistics::before>(),
                      engine::field<&OperandStatistics::after>(),
                      engine::field<&OperandStatistics::amax>(),
                      engine::field<&OperandStatistics::scale>(),
                      engine::field<&OperandStatistics::scale_map>(),
                      engine::field<&OperandStatistics::elements>(kCount),
                      engine::field<&OperandStatistics::saturated>(kCount),
                      engine::field<&OperandStatistics::underflowed>(kCount),
                      engine::field<&OperandStatistics::lost>(kCount),
                      engine::field<&OperandStatistics::undefined>(kCount),
                      engine::field<&OperandStatistics::snr_db>(),
                      engine::field<&OperandStatistics::median_block_snr_db>(),
                      engine::field<&OperandStatistics::experts>({.most = kMaxExperts}),
                      engine::field<&OperandStatistics::channels>()};
  }
};

/// Error of one product of one expert against the product of the unquantized operands, over the
/// elements where both are finite. NaN where nothing was compared: a pass that did not run, an
/// expert without rows.
struct ProductAccuracy {
  double snr_db = std::numeric_limits<double>::quiet_NaN();  // +inf if equal
  double max_abs_error = std::numeric_limits<double>::quiet_NaN();
  double reference_rms = std::numeric_limits<double>::quiet_NaN();
  /// Elements that overflowed: infinite or NaN although the reference is finite. The numbers above
  /// leave them out.
  std::uint64_t lost = 0;
  /// Elements whose reference is infinite or NaN; they are left out too.
  std::uint64_t undefined = 0;
  std::uint64_t left_out() const { return lost + undefined; }
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ProductAccuracy::snr_db>(),
                      engine::field<&ProductAccuracy::max_abs_error>(),
                      engine::field<&ProductAccuracy::reference_rms>(),
                      engine::field<&ProductAccuracy::lost>(kCount),
                      engine::field<&ProductAccuracy::undefined>(kCount)};
  }
};

}  // namespace engine
