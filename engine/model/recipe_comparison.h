// Every recipe on the same operand, side by side: accuracy, bytes and time; or over successive
// steps of that operand, each expert's accuracy alone. Plain values, no CUDA.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/run_request.h"
#include "engine/model/run_result.h"
#include "engine/model/step_series.h"

namespace engine {

inline constexpr int kMaxSampleSide = 32;
inline constexpr int kMaxComparedRecipes = 32;
inline constexpr int kMaxTimedLaunches = 1000;
inline constexpr int kMaxComparisonReports = 1000;

/// What to compare. The operand is X, layer 0's W (`weights`) or dY (`gradients`; not both) of
/// `request`; the request's own recipe is ignored where `recipes` names others. A comparison over
/// steps quantizes X, rowwise, and uses neither the sample nor timed launches.
struct ComparisonRequest {
  RunRequest request;
  bool weights = false;
  bool gradients = false;
  std::vector<Recipe> recipes = {};  // see compared_recipes()
  std::int64_t sample_row = 0;       // first row and column of the sample, cut to the operand
  std::int64_t sample_column = 0;
  /// Above 0: the sample is instead around the largest finite |x| of the region of this size that
  /// begins there (largest_element()).
  std::int64_t sample_rows = 0;
  std::int64_t sample_columns = 0;
  int timed_launches = 20;  // per recipe and direction; 0 = numerics only
  std::optional<StepSeries> series = {};
  /// Only the sample is wanted: experts that have none of its rows may be left out, and then no
  /// statistics count them. The sample is the same, because no scale depends on another expert.
  bool only_sample = false;
  bool operator==(const ComparisonRequest&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&ComparisonRequest::request>(),
        engine::field<&ComparisonRequest::weights>(),
        engine::field<&ComparisonRequest::gradients>(),
        engine::field<&ComparisonRequest::recipes>({.most = kMaxComparedRecipes}),
        engine::field<&ComparisonRequest::sample_row>(
            {.low = 0, .high = double{kMaxDimension} * kMaxExperts}),
        engine::field<&ComparisonRequest::sample_column>({.low = 0, .high = kMaxDimension}),
        engine::field<&ComparisonRequest::sample_rows>(
            {.low = 0, .high = double{kMaxDimension} * kMaxExperts}),
        engine::field<&ComparisonRequest::sample_columns>({.low = 0, .high = kMaxDimension}),
        engine::field<&ComparisonRequest::timed_launches>({.low = 0, .high = kMaxTimedLaunches}),
        engine::field<&ComparisonRequest::series>(),
        engine::field<&ComparisonRequest::only_sample>()};
  }
  Flaw flaw() const;
};

/// Every recipe that quantizes, with the other settings as given: per tensor first, each with FP32
/// and with power-of-two scales where it can have both.
std::vector<Recipe> default_comparison(const Recipe& settings = {});

/// Those that the request names, or default_comparison().
std::vector<Recipe> compared_recipes(const ComparisonRequest& request);

/// Delayed scaling beside current scaling over 32 steps of a linear step's X, otherwise with the
/// request's recipe. A step has at most 4096 rows, because more give the same answer much later; at
/// step 8, when the history has an amax to be wrong about, expert 0 has an outlier.
ComparisonRequest default_series(const RunRequest& request);

/// Rows of the amax history that one of `steps` steps can have filled.
int kept_history_rows(const Recipe& recipe, int steps);

/// A corner of the operand, element by element: at most 32 x 32.
struct QuantizationSample {
  std::int64_t row = 0;
  std::int64_t column = 0;
  int rows = 0;
  int columns = 0;
  std::vector<float> original;      // [rows, columns]
  std::vector<std::uint8_t> codes;  // [rows, columns], one per byte, including E2M1
  std::vector<float> scale_inv;     // [rows, columns], FP32 factor that decodes the element
  std::vector<float> decoded;       // [rows, columns]
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&QuantizationSample::row>(kCount),
        engine::field<&QuantizationSample::column>(kCount),
        engine::field<&QuantizationSample::rows>({.low = 0, .high = kMaxSampleSide}),
        engine::field<&QuantizationSample::columns>({.low = 0, .high = kMaxSampleSide}),
        engine::field<&QuantizationSample::original>({.most = kMaxSampleSide * kMaxSampleSide}),
        engine::field<&QuantizationSample::codes>({.most = kMaxSampleSide * kMaxSampleSide}),
        engine::field<&QuantizationSample::scale_inv>({.most = kMaxSampleSide * kMaxSampleSide}),
        engine::field<&QuantizationSample::decoded>({.most = kMaxSampleSide * kMaxSampleSide})};
  }
  Flaw flaw() const;
};

/// The part of the code's range left unused by rounding scales to powers of two, in binades: log2
/// of the scale required by amax alone over the scale used. Below 1 if a scale is rounded down from
/// its own amax; NVFP4, whose scales are not powers of two, has no scales here.
struct RangeWaste {
  std::uint64_t scales = 0;  // that counted: amax finite and above 0, ideal scale finite
  double mean = 0.0;
  double max = 0.0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&RangeWaste::scales>(kCount),
                      engine::field<&RangeWaste::mean>(), engine::field<&RangeWaste::max>()};
  }
};

/// Effect of quantization on one expert's part of the operand. NaN SNR: no rows.
struct ExpertQuantization {
  std::int64_t rows = 0;
  double snr_db = 0.0;
  std::uint64_t saturated = 0;
  std::uint64_t underflowed = 0;
  std::uint64_t lost = 0;
  std::uint64_t undefined = 0;
  RangeWaste waste = {};
  std::optional<DelayedScale> delayed = {};  // of delayed scaling in a series
  std::uint64_t left_out() const { return lost + undefined; }
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ExpertQuantization::rows>({.low = 0, .high = kMaxDimension}),
                      engine::field<&ExpertQuantization::snr_db>(),
                      engine::field<&ExpertQuantization::saturated>(kCount),
                      engine::field<&ExpertQuantization::underflowed>(kCount),
                      engine::field<&ExpertQuantization::lost>(kCount),
                      engine::field<&ExpertQuantization::undefined>(kCount),
                      engine::field<&ExpertQuantization::waste>(),
                      engine::field<&ExpertQuantization::delayed>()};
  }
};

/// One recipe in one direction, or at one step of a series: then only `experts` and `history`.
struct QuantizationReport {
  Recipe recipe = {};
  bool columnwise = false;
  std::string refused = {};           // not empty: why this one did not run; the rest is empty then
  OperandStatistics statistics = {};  // before, after, amax and scale histograms, scale map, SNR
  double max_relative_error = 0;      // max |x - decoded| / |x| over finite x above the format's
                                      // smallest normal after scaling
  std::int64_t max_ulp = 0;  // grid steps from x to decoded beyond correct rounding, largest
  std::vector<std::uint64_t> code_counts = {};  // 256, or 16 for E2M1
  QuantizationSample sample = {};
  std::int64_t code_bytes = 0;              // written codes
  std::int64_t scale_bytes = 0;             // written scales
  std::int64_t moved_bytes = 0;             // compulsory traffic of the launches that were timed
  std::vector<std::int64_t> times_ns = {};  // of each timed launch
  std::string time_method = {};             // "CUDA events around ...", "steady clock around ..."
  RangeWaste waste = {};                    // of all experts
  std::vector<ExpertQuantization> experts = {};  // [num_experts]
  int step = 0;                                  // of a series
  /// [kept_history_rows(), num_experts] amaxes that delayed scaling remembers after a step of a
  /// series. Row 0 holds the step's own, the last row those of the step before. Rows that no step
  /// can have filled are left out before row 1.
  std::vector<float> history = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&QuantizationReport::recipe>(),
        engine::field<&QuantizationReport::columnwise>(),
        engine::field<&QuantizationReport::refused>(),
        engine::field<&QuantizationReport::statistics>(),
        engine::field<&QuantizationReport::max_relative_error>(),
        engine::field<&QuantizationReport::max_ulp>(kCount),
        engine::field<&QuantizationReport::code_counts>({.low = 0, .high = kMaxCount, .most = 256}),
        engine::field<&QuantizationReport::sample>(),
        engine::field<&QuantizationReport::code_bytes>(kCount),
        engine::field<&QuantizationReport::scale_bytes>(kCount),
        engine::field<&QuantizationReport::moved_bytes>(kCount),
        engine::field<&QuantizationReport::times_ns>(
            {.low = 0, .high = kMaxTime_ns, .most = kMaxComparisonReports * kMaxTimedLaunches}),
        engine::field<&QuantizationReport::time_method>(),
        engine::field<&QuantizationReport::waste>(),
        engine::field<&QuantizationReport::experts>({.most = kMaxExperts}),
        engine::field<&QuantizationReport::step>({.low = 0, .high = kMaxSeriesSteps - 1}),
        engine::field<&QuantizationReport::history>({.most = kMaxHistoryFloats})};
  }
};

struct RecipeComparison {
  std::uint64_t id = 0;  // of the order it answers
  ComparisonRequest request;
  std::vector<std::int64_t> splits;  // of a series those of its first step
  DeviceFacts device;
  std::vector<QuantizationReport> reports;
  std::vector<std::int64_t> copy_times_ns;  // a copy of copy_bytes, interleaved with them
  std::int64_t copy_bytes = 0;              // read plus written, as moved_bytes counts
  std::int64_t wall_ns = 0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&RecipeComparison::id>(),
        engine::field<&RecipeComparison::request>(),
        engine::field<&RecipeComparison::splits>(
            {.low = 0, .high = kMaxDimension, .most = kMaxExperts}),
        engine::field<&RecipeComparison::device>(),
        engine::field<&RecipeComparison::reports>({.most = kMaxComparisonReports}),
        engine::field<&RecipeComparison::copy_times_ns>(
            {.low = 0, .high = kMaxTime_ns, .most = kMaxComparisonReports * kMaxTimedLaunches}),
        engine::field<&RecipeComparison::copy_bytes>(kCount),
        engine::field<&RecipeComparison::wall_ns>(kDuration_ns)};
  }
};

}  // namespace engine
