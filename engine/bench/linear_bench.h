// The benchmark of the grouped linear step: on every shape and routing all subjects take turns, and
// another one begins each round, so that what the clock or a neighbour does to one it does to all.
#pragma once

#include <functional>
#include <vector>

#include "engine/bench/linear_subject.h"
#include "engine/model/linear_bench.h"

namespace engine {

struct MeasuredLinearRow {
  LinearBenchRow row;
  std::vector<MeasuredSpan> spans = {};  // one a round; none of a row that was skipped
};

/// All rows of a shape and routing, once they are measured. An error ends the benchmark.
using TellLinearRows = std::function<Status(const std::vector<MeasuredLinearRow>&)>;

/// The order has passed validate(); `seconds` is for each shape and routing, five rounds at least.
/// Cancelled when progress.cancel was seen: the rows told before stay told.
Status run_linear_bench(const std::vector<LinearTarget*>& targets, const LinearBenchOrder& order,
                        double seconds, RunProgress& progress, const TellLinearRows& tell);

}  // namespace engine
