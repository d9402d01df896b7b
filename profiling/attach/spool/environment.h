// The environment variables through which `expertscope attach` tells the preloaded library what to
// record.
#pragma once

#include <cstdint>

namespace profiling::spool {

inline constexpr const char* kFolderVariable =
    "EXPERTSCOPE_ATTACH_FOLDER";  // of the spools; unset = record nothing
inline constexpr const char* kOnlyVariable =
    "EXPERTSCOPE_ATTACH_ONLY";  // a word of the command line
inline constexpr const char* kRankVariable = "EXPERTSCOPE_ATTACH_RANK";  // the value of RANK
inline constexpr const char* kLimitVariable =
    "EXPERTSCOPE_ATTACH_LIMIT";  // bytes of each process's spool
inline constexpr const char* kCompareVariable =
    "EXPERTSCOPE_ATTACH_COMPARE";  // "1" = compare memory before and after replays
inline constexpr const char* kMarkersVariable =
    "EXPERTSCOPE_ATTACH_MARKERS";  // "1" = instantiate copies of graphs with markers
inline constexpr std::uint64_t kDefaultLimit = std::uint64_t{48} << 20;  // if it is unset

}  // namespace profiling::spool
