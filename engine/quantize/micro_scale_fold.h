// The scale map and histogram of an operand with one-byte scales, from the bytes and what
// micro_statistics() counted beside them; elements and codes stay where they are.
#pragma once

#include <span>

#include "engine/quantize/operand_layout.h"
#include "engine/quantize/statistics_fold.h"
#include "kernels/diagnostics/micro_statistics.h"

namespace engine {

struct MicroScaleFold {
  ScaleMap map;
  MagnitudeHistogram scale;  // one count a block: 1 / its factor
};

/// `scales` and `losses`: of all groups, padding included, in compact order; `amax`: [groups],
/// NVFP4 only. `splits`: rows of every group.
MicroScaleFold fold_micro_scales(const OperandLayout& layout, std::span<const std::int64_t> splits,
                                 std::int64_t columns, std::span<const std::uint8_t> scales,
                                 std::span<const kernels::MicroLosses> losses, const float* amax);

}  // namespace engine
