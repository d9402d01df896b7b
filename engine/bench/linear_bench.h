// The benchmark of the grouped linear step: on every shape and routing all subjects are
// interleaved, and a different one begins each round, so that clock changes and other load affect
// all equally.
#pragma once

#include <functional>
#include <vector>

#include "engine/bench/linear_subject.h"
#include "engine/model/linear_bench.h"

namespace engine {

struct MeasuredLinearRow {
  LinearBenchRow row;
  std::vector<MeasuredSpan> spans = {};  // one per round; none for a skipped row
};

/// All rows of a shape and routing, once they are measured. An error ends the benchmark.
using ReportLinearRows = std::function<Status(const std::vector<MeasuredLinearRow>&)>;

/// The order has passed validate(); `seconds` is for each shape and routing, five rounds at least.
/// Cancelled when progress.cancel was seen: rows already reported stay valid.
Status run_linear_bench(const std::vector<LinearTarget*>& targets, const LinearBenchOrder& order,
                        double seconds, RunProgress& progress, const ReportLinearRows& report);

}  // namespace engine
