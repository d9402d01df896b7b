// The break-even count of two runs of the same step, one with and one without quantization: from
// how many micro-batches per update of the weights the quantizing run is faster. The run must have
// ProductOptions::weight_reuse above 1: then the first of every so many iterations quantizes the
// weights and the rest reuse them. A run with one micro-batch does not show the cost of the
// weights, because records of kernels do not name their operand.
#pragma once

#include <cstddef>
#include <optional>

#include "engine/model/weight_reuse.h"
#include "profiling/compare/run_comparison.h"

namespace profiling {

struct KeptWeights {
  bool b_quantizes = true;          // else A
  engine::ReuseTimes medians = {};  // ns
  std::size_t n_quantizing = 0;
  std::size_t n_keeping = 0;
  std::size_t n_plain = 0;
  /// engine::micro_batches_to_win() of the medians; empty = no number of micro-batches suffices.
  std::optional<int> from = {};
  /// The same at the ends of the medians' 95 % intervals; only if every median has one.
  bool interval_known = false;
  std::optional<int> from_at_best = {};
  std::optional<int> from_at_worst = {};
};

/// Empty if the two differ in more than their recipes (in the request, in splits, backend or
/// device), if both or neither quantize, if the iterations have several recorded routings, or if no
/// iteration reused its weights.
std::optional<KeptWeights> kept_weights(const RunSide& a, const RunSide& b);

}  // namespace profiling
