// Reuse of quantized weights. Weights change once per update, and an update has several
// micro-batches, so a step can quantize them in the first and reuse them in the rest. This computes
// the break-even count: from how many micro-batches that is faster than a step that quantizes
// nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "engine/model/run_request.h"

namespace engine {

/// Whether iteration `i` of a run quantizes the weights; otherwise it reuses those of the iteration
/// before. With recorded routing, a whole pass over its steps either quantizes or reuses, so that
/// the times of its steps differ only by their routing.
constexpr bool quantizes_weights(int i, int weight_reuse, std::size_t recorded_steps) {
  return i / static_cast<int>(std::max<std::size_t>(recorded_steps, 1)) % weight_reuse == 0;
}

/// Times of one micro-batch each, all in the same unit.
struct ReuseTimes {
  double quantizing = 0;  // a step that quantizes its weights
  double keeping = 0;     // the same step on weights that were quantized before
  double plain = 0;       // a step without quantization
};

/// The smallest M with (quantizing + (M - 1) keeping) / M < plain, up to kMaxWeightReuse; empty if
/// there is no such M.
inline std::optional<int> micro_batches_to_win(const ReuseTimes& times) {
  // Keeping saves work: where it measures longer, the difference is noise.
  const double keeping = std::min(times.keeping, times.quantizing);
  const double gained = times.plain - keeping;  // in each micro-batch after the first
  const double spent = times.quantizing - keeping;
  if (!(gained > 0)) return std::nullopt;
  const double least = std::floor(spent / gained) + 1;
  if (least > kMaxWeightReuse) return std::nullopt;
  return static_cast<int>(least);
}

}  // namespace engine
