// The conditions of timed iterations, as plots of them show first: two runs under different
// conditions are not the same measurement.
#pragma once

#include <string>

#include "engine/model/measurement.h"

namespace app {

/// "warm, sustained", "cold, burst".
inline std::string conditions_text(const engine::MeasureOptions& measure) {
  return std::string(measure.cache == engine::CacheMode::Cold ? "cold" : "warm") + ", " +
         (measure.pace == engine::Pace::Burst ? "burst" : "sustained");
}

}  // namespace app
