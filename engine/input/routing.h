// Routing: how many rows of X every expert gets, by a rule, or step by step as a file recorded it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/input/token_routing.h"
#include "engine/model/error.h"
#include "engine/model/recorded_steps.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"
#include "engine/model/shape.h"

namespace engine {

struct ResolvedRouting {
  GroupedShape shape;                                    // of the first step
  std::optional<RecordedRouting> recorded;               // only of RoutingDistribution::File
  std::shared_ptr<const TokenRouting> tokens = nullptr;  // only of a step that begins at tokens

  /// Rows of every step that iterations are to have, in turn. At least one.
  std::vector<std::vector<std::int64_t>> splits_of_steps() const;
};

/// Mean rows of the first `iterations` iterations; the sum of the splits without a routing file.
double mean_rows(std::span<const std::int64_t> splits,
                 const std::optional<RecordedRouting>& recorded, std::size_t iterations);

/// Whose errors are measured after the timed iterations (MeasureOptions::recorded_steps).
struct StepsToMeasure {
  int steps = 0;      // the first ones that were replayed
  std::string words;  // for RecordedRouting::numerics
};
StepsToMeasure steps_to_measure(const MeasureOptions& measure, const RecordedRouting& recorded,
                                int iterations, int in_flight = 1);

/// The launch's iterations, rounded up so that each of `steps` recorded steps is visited equally
/// often; unchanged if they do not reach every step.
int whole_cycles(const LaunchMode& launch, std::size_t steps);
/// Iterations of one such cycle; 1 where `launch` does not reach every step.
int cycle_of(const LaunchMode& launch, std::size_t steps);
/// Makes the run's iterations visit every recorded step equally often, so that their mean time is
/// that of the routing file. A change becomes a deviation of the run.
void visit_steps_equally(RunResult& result, std::size_t steps);

/// Deterministic in (routing, shape, seed). Splits are [num_experts], each >= 0, and sum to exactly
/// request.shape.rows; only with a routing file of several steps may a sum be less, and X then
/// has rows that a step does not use. A file that does not fit is refused with both numbers. The
/// file is read once, so that splits and choices belong to the same state of it.
Result<ResolvedRouting> resolve_routing(const RunRequest& request);

/// Shape of the first step, for work that has no iterations.
Result<GroupedShape> resolve_shape(const RunRequest& request);
/// resolve_routing()'s tokens: for work that has its splits from elsewhere than a file.
Result<std::shared_ptr<const TokenRouting>> resolve_token_routing(const RunRequest& request);

}  // namespace engine
