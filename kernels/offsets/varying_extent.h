// What is valid of one group's dimensions: the same on the host and on the device.
#pragma once

#include "kernels/offsets/varying_offsets.h"

namespace kernels {

/// A group as its dimensions say, and what is wrong with it alone.
struct CheckedExtent {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::uint32_t fault = 0;
  std::int64_t value = 0;  // that offends; until one does, the rows as given

  /// At most one more than fits, so that sums of them fit.
  KERNELS_HOST_DEVICE std::int64_t elements(const VaryingOffsetsArgs& args) const {
    const std::int64_t product = rows * columns;
    return product <= args.capacity_elements ? product : args.capacity_elements + 1;
  }
};

KERNELS_HOST_DEVICE inline std::int64_t dim_at(const void* dims, IntegerType type, int group) {
  if (type == IntegerType::Int32) return static_cast<const std::int32_t*>(dims)[group];
  return static_cast<const std::int64_t*>(dims)[group];
}

KERNELS_HOST_DEVICE inline CheckedExtent checked_extent(const VaryingOffsetsArgs& args, int group) {
  constexpr std::int64_t kLargest = 0x7FFFFFFF;
  const std::int64_t rows =
      args.first_dims != nullptr ? dim_at(args.first_dims, args.dim_type, group) : args.same_rows;
  const std::int64_t columns =
      args.last_dims != nullptr ? dim_at(args.last_dims, args.dim_type, group) : args.same_columns;
  if (rows < 0) return {.fault = kNegativeRows, .value = rows};
  if (columns < 0 || columns > kLargest || columns % kColumnAlignment != 0) {
    return {.fault = kUnalignedColumns, .value = columns};
  }
  // One row too many is enough to notice.
  return {.rows = rows <= args.capacity_rows ? rows : args.capacity_rows + 1,
          .columns = columns,
          .value = rows};
}

/// Whether a group that ends here, counted with all before it, does not fit.
KERNELS_HOST_DEVICE inline bool over_capacity(const VaryingOffsetsArgs& args, std::int64_t end_row,
                                              std::int64_t end_element) {
  return end_row > args.capacity_rows || end_element > args.capacity_elements;
}

/// A group that does not fit counts as one without rows and columns.
KERNELS_HOST_DEVICE inline CheckedExtent without_place(const CheckedExtent& extent) {
  return {.fault = kGroupsOverCapacity, .value = extent.value};
}

}  // namespace kernels
