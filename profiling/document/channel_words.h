// Rows and columns of an operand in words and as a table: which are outliers, and what they cost.
#pragma once

#include <string>
#include <vector>

#include "engine/model/channel_statistics.h"
#include "engine/model/recipe_comparison.h"
#include "profiling/document/table.h"

namespace profiling {

enum class ChannelAxis : std::uint8_t { Columns, Rows };
constexpr auto enum_names(ChannelAxis) {
  return std::to_array<std::string_view>({"columns", "rows"});
}
const engine::ChannelProfile& profile_of(const engine::ChannelStatistics& channels,
                                         ChannelAxis axis);

/// By what the named channels are the worst.
enum class ChannelList : std::uint8_t { Largest, Noisiest, LowestSnr };
constexpr auto enum_names(ChannelList) {
  return std::to_array<std::string_view>({"largest", "noisiest", "lowest_snr"});
}
const std::vector<engine::Channel>& channels_of(const engine::ChannelProfile& profile,
                                                ChannelList list);

/// "Column 1 234 reaches 61.3, 57 times the median column; 4 of 7 168 columns reach 10 times it.
/// 16 of 7 168 columns have 83 % of the noise and 40 % of the signal: their SNR is 8.65 dB below
/// that of the others." Empty if the axis has no element that is not zero.
std::string channels_text(const engine::ChannelProfile& profile, ChannelAxis axis);

/// The named channels of one list, the worst first. The profile must outlive the table.
Table named_channels_table(const engine::ChannelProfile& profile, ChannelAxis axis,
                           ChannelList list);

/// Of each axis in the table of all recipes.
inline constexpr std::size_t kWorstChannels = 3;

/// Of every recipe and direction the rows and columns with the largest shares of the noise. The
/// comparison must outlive the table.
Table worst_channels_table(const engine::RecipeComparison& comparison);

}  // namespace profiling
