// The quantize benchmark: on every shape, all cases are interleaved, so that clock changes and
// other load affect all of them equally, and also the copy that they are reported relative to.
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
  std::vector<MeasuredSpan> spans;  // one per round
};

/// All rows of a shape, once it is measured. An error ends the benchmark.
using ReportRows = std::function<Status(const std::vector<MeasuredRow>&)>;

/// The order has passed validate(). Cancelled when progress.cancel was seen: rows already reported
/// stay valid.
Status run_quantize_bench(BenchTarget& target, const BenchOrder& order, RunProgress& progress,
                          const ReportRows& report);

}  // namespace engine
