// The figures of a run that answer "how long, how fast, how right". The window shows them above its
// pages, the command line and the shared page in their summaries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/run_result.h"
#include "profiling/document/quantity.h"
#include "profiling/document/table.h"
#include "profiling/trace/statistics.h"

namespace profiling {

/// The expert whose output of the step's first product has the lowest SNR.
struct WorstExpert {
  engine::Product product = engine::Product::Fprop;
  int expert = 0;
  double snr_db = 0.0;
  std::uint64_t left_out = 0;  // elements of all experts that their SNRs leave out
};
/// Empty if no expert with rows has an SNR.
std::optional<WorstExpert> worst_expert(const engine::RunResult& result);

/// Elements of all outputs that overflowed.
std::uint64_t lost_outputs(const engine::RunResult& result);

struct HeadlineFigure {
  std::string name;  // "step", "throughput", "snr", "lost"
  Quantity value;
  std::string label;   // "step, median of 50 · ±0.8 %"
  std::string method;  // how it is made
  Tone tone = Tone::Plain;
};

/// `time`: of the iterations that count, with the precision of its median. A figure that
/// the run has no numbers for is left out.
std::vector<HeadlineFigure> headline_of(const engine::RunResult& result, const Distribution& time,
                                        const MedianPrecision& precision);

}  // namespace profiling
