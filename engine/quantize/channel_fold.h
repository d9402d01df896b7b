// From sums of every row and column to what a RunResult carries of them: profiles of a few hundred
// cells, and the worst channels by name. The same code for sums of the CPU and of a device.
#pragma once

#include <cstdint>
#include <span>

#include "engine/model/channel_statistics.h"
#include "kernels/diagnostics/channel_statistics.h"

namespace engine {

/// `rows` and `columns` of one operand; `splits`: rows of every expert, which add up to them.
ChannelStatistics fold_channels(std::span<const kernels::ChannelSums> columns,
                                std::span<const kernels::ChannelSums> rows,
                                std::span<const std::int64_t> splits);

}  // namespace engine
