// The quantize benchmark: on every shape, all cases take turns, so that what the clock or a
// neighbour does to one it does to all, and to the copy they are told as a share of.
#pragma once

#include <functional>
#include <vector>

#include "engine/bench/bench_target.h"
#include "engine/bench/measured_span.h"
#include "engine/model/bench_suite.h"
#include "engine/observe/step_observer.h"

namespace engine {

struct MeasuredRow {
  BenchRow row;
  std::vector<MeasuredSpan> spans;  // one a round
};

/// All rows of a shape, once it is measured. An error ends the benchmark.
using TellRows = std::function<Status(const std::vector<MeasuredRow>&)>;

/// The order has passed validate(). Cancelled when progress.cancel was seen: the rows told before
/// stay told.
Status run_quantize_bench(BenchTarget& target, const BenchOrder& order, RunProgress& progress,
                          const TellRows& tell);

}  // namespace engine
