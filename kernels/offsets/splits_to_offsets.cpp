// CPU twin of the offsets launch: splits are clamped first, then every output is one running sum.
#include "kernels/offsets/splits_to_offsets.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace kernels {
namespace {

std::int64_t split_at(const SplitsToOffsetsArgs& args, int group) {
  if (args.split_type == IntegerType::Int32) {
    return static_cast<const std::int32_t*>(args.splits)[group];
  }
  return static_cast<const std::int64_t*>(args.splits)[group];
}

std::int32_t to_int32(std::int64_t value, std::uint32_t& error) {
  const std::int64_t fitting = std::clamp<std::int64_t>(
      value, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  if (fitting != value) error |= kOffsetBeyondInt32;
  return static_cast<std::int32_t>(fitting);
}

void store(const OffsetArray& array, std::int64_t index, std::int64_t value, std::uint32_t& error) {
  if (array.type == IntegerType::Int32) {
    static_cast<std::int32_t*>(array.values)[index] = to_int32(value, error);
  } else {
    static_cast<std::int64_t*>(array.values)[index] = value;
  }
}

}  // namespace

void splits_to_offsets_cpu(const SplitsToOffsetsArgs& args) {
  std::uint32_t error = 0;
  std::vector<std::int64_t> group_rows;
  std::int64_t row = 0;
  args.row_offsets[0] = 0;
  for (int group = 0; group < args.num_groups; ++group) {
    std::int64_t rows = split_at(args, group);
    if (rows < 0) {
      error |= kNegativeSplit;
      rows = 0;
    }
    if (rows > args.capacity_rows - row) {
      error |= kSplitsOverCapacity;
      rows = args.capacity_rows - row;
    }
    group_rows.push_back(rows);
    row += rows;
    args.row_offsets[group + 1] = row;
    if (args.rows != nullptr) args.rows[group] = to_int32(rows, error);
    if (args.padded_rows != nullptr) {
      args.padded_rows[group] = to_int32(round_up(rows, args.padded_rows_unit), error);
    }
  }
  for (int i = 0; i < args.num_offset_arrays; ++i) {
    const OffsetArray& array = args.offset_arrays[i];
    std::int64_t index = 0;
    std::int64_t units = 0;
    if (array.leading_zero) store(array, index++, 0, error);
    for (const std::int64_t rows : group_rows) {
      units += ceil_div(rows, array.unit);
      store(array, index++, array.stride * units, error);
    }
  }
  for (int i = 0; i < args.num_pointer_arrays; ++i) {
    const PointerArray& array = args.pointer_arrays[i];
    std::int64_t units = 0;
    for (int group = 0; group < args.num_groups; ++group) {
      array.pointers[group] =
          array.base + group * array.bytes_per_group + units * array.bytes_per_unit;
      units += ceil_div(group_rows[static_cast<std::size_t>(group)], array.unit);
    }
  }
  if (args.error_word != nullptr) *args.error_word |= error;
}

}  // namespace kernels
