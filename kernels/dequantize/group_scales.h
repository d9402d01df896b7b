// Where the inverse scale of an element lies in each layout, relative to one group (also on the
// device), and how the rows of a grouped operand are cut into tasks that never straddle groups.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/common/scale_rule.h"  // KERNELS_HOST_DEVICE
#include "kernels/common/types.h"
#include "kernels/dequantize/dequantize.h"

namespace kernels {

/// Inverse scales of one group: at(row, column) with the row counted inside the group.
struct GroupScales {
  const float* first = nullptr;
  std::int64_t row_shift = 63;  // row >> row_shift and column >> column_shift index the block
  std::int64_t column_shift = 63;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;

  KERNELS_HOST_DEVICE std::int64_t offset(std::int64_t row, std::int64_t column) const {
    return (row >> row_shift) * row_stride + (column >> column_shift) * column_stride;
  }
  KERNELS_HOST_DEVICE float at(std::int64_t row, std::int64_t column) const {
    return first[offset(row, column)];
  }
};

struct RowTask {
  int group = 0;
  std::int64_t first_row = 0;  // inside the group
  std::int64_t last_row = 0;   // exclusive
};

/// One entry per group. A null `scale_inv` gives entries that must not be read.
inline std::vector<GroupScales> group_scales(ScaleLayout layout, const float* scale_inv,
                                             const std::int64_t* row_offsets, int num_groups,
                                             std::int64_t columns) {
  std::vector<GroupScales> scales(static_cast<std::size_t>(num_groups));
  if (scale_inv == nullptr) return scales;
  const std::int64_t blocks = ceil_div(columns, kBlock);
  const float* next = scale_inv;
  for (int g = 0; g < num_groups; ++g) {
    GroupScales& group = scales[static_cast<std::size_t>(g)];
    const std::int64_t rows = row_offsets[g + 1] - row_offsets[g];
    group.first = next;
    switch (layout) {
      case ScaleLayout::PerTensor:
        next += 1;
        break;
      case ScaleLayout::Block1x128:
        // Stored transposed: all rows of a column block are adjacent.
        group.row_shift = 0;
        group.row_stride = 1;
        group.column_shift = 7;
        group.column_stride = round_up(rows, 4);
        next += blocks * group.column_stride;
        break;
      case ScaleLayout::Block128x128:
        group.row_shift = 7;
        group.row_stride = round_up(blocks, 4);
        group.column_shift = 7;
        group.column_stride = 1;
        next += ceil_div(rows, kBlock) * group.row_stride;
        break;
      default:  // one-byte scales are not FP32
        break;
    }
  }
  return scales;
}

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
