// A comparison of recipes over steps: in which steps X has an outlier or an expert has no rows, and
// what delayed scaling remembered at each step. Plain values, no CUDA.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/model/fields.h"
#include "engine/model/shape.h"

namespace engine {

inline constexpr int kMaxSeriesSteps = 256;
/// Limit of the rows of a series: one per step, recipe and expert.
inline constexpr std::int64_t kMaxSeriesRows = std::int64_t{kMaxSeriesSteps} * kMaxExperts;
/// Limit of the amaxes of all histories of a series together.
inline constexpr std::int64_t kMaxHistoryFloats = std::int64_t{4} << 20;

/// In this step the routing leaves the expert without rows.
struct IdleExpert {
  int step = 0;
  int expert = 0;
  bool operator==(const IdleExpert&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&IdleExpert::step>({.low = 0, .high = kMaxSeriesSteps - 1}),
                      engine::field<&IdleExpert::expert>({.low = 0, .high = kMaxExperts - 1})};
  }
};

/// Step s routes and fills X as the request does with seed + s.
struct StepSeries {
  int steps = 32;         // 1..kMaxSeriesSteps
  int outlier_step = -1;  // -1 = none; the expert's largest element of this step ...
  int outlier_expert = 0;
  double outlier_factor = 64.0;  // ... is multiplied by this; > 0
  std::vector<IdleExpert> idle = {};
  bool operator==(const StepSeries&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&StepSeries::steps>({.low = 1, .high = kMaxSeriesSteps}),
        engine::field<&StepSeries::outlier_step>({.low = -1, .high = kMaxSeriesSteps - 1}),
        engine::field<&StepSeries::outlier_expert>({.low = 0, .high = kMaxExperts - 1}),
        engine::field<&StepSeries::outlier_factor>(),
        engine::field<&StepSeries::idle>({.most = kMaxSeriesRows})};
  }
  Flaw flaw() const;
};

/// The delayed scale of one expert at one step.
struct DelayedScale {
  float amax = 0.0F;          // of the step; 0 without rows
  float history_amax = 0.0F;  // that the scale is based on; 0 before the first amax
  float scale_used = 1.0F;
  float scale_wanted = 1.0F;  // what this step's own amax requires; NaN without rows
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&DelayedScale::amax>(), engine::field<&DelayedScale::history_amax>(),
        engine::field<&DelayedScale::scale_used>(), engine::field<&DelayedScale::scale_wanted>()};
  }
};

}  // namespace engine
