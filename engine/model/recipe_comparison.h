// Every recipe on the same operand, side by side: what each makes of its numbers, its bytes and its
// time. Plain values, no CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/run_request.h"
#include "engine/model/run_result.h"

namespace engine {

inline constexpr int kMaxSampleSide = 32;
inline constexpr int kMaxComparedRecipes = 32;
inline constexpr int kMaxTimedLaunches = 1000;

/// What to compare. The operand is X, layer 0's W (`weights`) or dY (`gradients`; not both) of
/// `request`; the request's own recipe is ignored where `recipes` names others.
struct ComparisonRequest {
  RunRequest request;
  bool weights = false;
  bool gradients = false;
  std::vector<Recipe> recipes = {};  // empty = default_comparison()
  std::int64_t sample_row = 0;       // first row and column of the sample, cut to the operand
  std::int64_t sample_column = 0;
  int timed_launches = 20;  // per recipe and direction; 0 = numerics only
  bool operator==(const ComparisonRequest&) const = default;
};

/// Per tensor (current, delayed), block with FP32 and with power-of-two scales, MXFP8, NVFP4. BF16
/// is not among them: it has neither codes nor scales.
std::vector<Recipe> default_comparison();

/// The request's own limits, those of every recipe, and those of the sample and the timing.
Status validate(const ComparisonRequest& request);

/// A corner of the operand, element by element: at most 32 x 32.
struct QuantizationSample {
  std::int64_t row = 0;
  std::int64_t column = 0;
  int rows = 0;
  int columns = 0;
  std::vector<float> original;      // [rows, columns]
  std::vector<std::uint8_t> codes;  // [rows, columns], one a byte, E2M1 too
  std::vector<float> scale_inv;     // [rows, columns], FP32 factor that decodes the element
  std::vector<float> decoded;       // [rows, columns]
};

/// What rounding scales to powers of two leaves unused of the code's range, in binades: log2 of the
/// scale that amax alone asks for over the scale that was used. Below 1 where a scale is rounded
/// down from its own amax; NVFP4, whose scales are no powers of two, has no scales here.
struct RangeWaste {
  std::uint64_t scales = 0;  // that counted: amax finite and above 0, ideal scale finite
  double mean = 0.0;
  double max = 0.0;
};

/// What quantizing did to one expert's part of the operand. NaN SNR: no rows.
struct ExpertQuantization {
  std::int64_t rows = 0;
  double snr_db = 0.0;
  std::uint64_t saturated = 0;
  std::uint64_t underflowed = 0;
  RangeWaste waste = {};
};

/// One recipe in one direction.
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
  std::vector<ExpertQuantization> experts = {};  // [num_experts]; empty before schema 5
};

struct RecipeComparison {
  std::uint64_t id = 0;  // of the order it answers
  ComparisonRequest request;
  std::vector<std::int64_t> splits;
  DeviceFacts device;
  std::vector<QuantizationReport> reports;
  std::vector<std::int64_t> copy_times_ns;  // a copy of copy_bytes beside them, interleaved
  std::int64_t copy_bytes = 0;              // read plus written, as moved_bytes counts
  std::int64_t wall_ns = 0;
};

}  // namespace engine
