// Routing: how many rows of X every expert gets, by a rule, or step by step as a file recorded it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/recorded_steps.h"
#include "engine/model/run_request.h"
#include "engine/model/shape.h"

namespace engine {

struct ResolvedRouting {
  GroupedShape shape;                        // of the first step
  std::optional<RecordedRouting> recording;  // only of RoutingDistribution::File

  /// Rows of every step that iterations are to have, in turn. At least one.
  std::vector<std::vector<std::int64_t>> splits_of_steps() const;
};

/// Of the first `iterations` iterations; without a recording the sum of the splits.
double mean_rows(std::span<const std::int64_t> splits,
                 const std::optional<RecordedRouting>& recording, std::size_t iterations);

/// Whose errors are measured after the timed iterations (MeasureOptions::recorded_steps).
struct StepsToMeasure {
  int steps = 0;      // the first ones that were replayed
  std::string words;  // for RecordedRouting::numerics
};
StepsToMeasure steps_to_measure(const MeasureOptions& measure, const RecordedRouting& recording,
                                int iterations, int in_flight = 1);

/// Deterministic in (routing, shape, seed). Splits are [num_experts], each >= 0, and sum to exactly
/// request.shape.tokens; only of a recording of several steps a sum may be less, and X then has
/// rows that a step does not use. A file that does not fit is refused with both numbers.
Result<ResolvedRouting> resolve_routing(const RunRequest& request);

/// Of the first step: for work that has no iterations.
Result<GroupedShape> resolve_shape(const RunRequest& request);

}  // namespace engine
