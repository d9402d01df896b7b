// What this machine's memory and cores reach today: the roofs of a roofline.
#pragma once

#include "engine/model/measurement.h"
#include "engine/model/shape.h"

namespace engine {

/// A copy far larger than the caches by all threads, and a dense FP32 product, cut to at most
/// kCeilingSide a dimension so that it takes milliseconds: OpenBLAS is at its rate by then.
inline constexpr std::int64_t kCeilingSide = 1024;
Ceilings measure_cpu_ceilings(const GroupedShape& shape);

}  // namespace engine
