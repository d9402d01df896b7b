// How the rows of a grouped operand are cut into tasks that never straddle groups, on the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kernels {

struct RowTask {
  int group = 0;
  std::int64_t first_row = 0;  // inside the group
  std::int64_t last_row = 0;   // exclusive
};

/// Tasks of about `elements_per_task` elements, in row order: sums merged in task order do not
/// depend on the number of threads.
inline std::vector<RowTask> row_tasks(const std::int64_t* row_offsets, int num_groups,
                                      std::int64_t columns, std::int64_t elements_per_task) {
  const std::int64_t step =
      std::max<std::int64_t>(1, elements_per_task / std::max<std::int64_t>(1, columns));
  std::vector<RowTask> tasks;
  for (int g = 0; g < num_groups; ++g) {
    const std::int64_t rows = row_offsets[g + 1] - row_offsets[g];
    for (std::int64_t row = 0; row < rows; row += step) {
      tasks.push_back({.group = g, .first_row = row, .last_row = std::min(row + step, rows)});
    }
  }
  return tasks;
}

}  // namespace kernels
