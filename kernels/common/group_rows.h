// Which group a row belongs to, on the host. Empty groups own no rows and are skipped.
#pragma once

#include <algorithm>

#include "kernels/common/types.h"

namespace kernels {

/// The last group that starts at or before `row`; row < row_offsets[num_groups].
inline int group_of_row(const GroupedInput& input, std::int64_t row) {
  const std::int64_t* ends = input.row_offsets + 1;
  return static_cast<int>(std::upper_bound(ends, ends + input.num_groups, row) - ends);
}

/// Rows that hold tokens; the rest of the capacity is not touched.
inline std::int64_t active_rows(const GroupedInput& input) {
  return input.row_offsets[input.num_groups];
}

/// Below this many elements a cast takes less time than waking other threads.
inline constexpr std::int64_t kThreadedElements = std::int64_t{1} << 16;

}  // namespace kernels
