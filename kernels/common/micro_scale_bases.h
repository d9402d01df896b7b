// Where the one-byte scales of each group start, on the host.
#pragma once

#include <vector>

#include "kernels/common/micro_scales.h"
#include "kernels/common/value_tile.h"

namespace kernels {

class MicroScaleBases {
 public:
  MicroScaleBases(const GroupedInput& input, const OutputRows& output, std::int64_t block)
      : MicroScaleBases(output_offsets(input, output), input.num_groups, input.columns, block) {}

  MicroScaleBases(const std::int64_t* row_offsets, int num_groups, std::int64_t columns,
                  std::int64_t block) {
    for (int group = 0; group < num_groups; ++group) {
      const std::int64_t m = row_offsets[group + 1] - row_offsets[group];
      rowwise_.push_back(rowwise_.back() + micro_scale_bytes(m, columns, block));
      columnwise_.push_back(columnwise_.back() + micro_scale_bytes(columns, m, block));
    }
  }

  /// Byte offset of the group's first scale.
  std::int64_t rowwise(int group) const { return rowwise_[static_cast<std::size_t>(group)]; }
  std::int64_t columnwise(int group) const { return columnwise_[static_cast<std::size_t>(group)]; }

 private:
  std::vector<std::int64_t> rowwise_ = {0};
  std::vector<std::int64_t> columnwise_ = {0};
};

}  // namespace kernels
