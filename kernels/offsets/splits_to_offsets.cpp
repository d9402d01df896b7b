// CPU twin of the offsets launch: one pass over the splits, every output of a group written as
// soon as its place is known.
#include "kernels/offsets/splits_to_offsets.h"

#include <algorithm>

namespace kernels {

void splits_to_offsets_cpu(const SplitsToOffsetsArgs& args) {
  std::uint32_t error = 0;
  std::int64_t row = 0;
  std::int64_t padded_row = 0;
  args.row_offsets[0] = 0;
  for (int group = 0; group < args.num_groups; ++group) {
    std::int64_t rows = args.splits[group];
    if (rows < 0) {
      error |= 1U;
      rows = 0;
    }
    if (rows > args.capacity_rows - row) {
      error |= 2U;
      rows = args.capacity_rows - row;
    }
    for (int i = 0; i < args.num_pointer_arrays; ++i) {
      const PointerArray& array = args.pointer_arrays[i];
      array.pointers[group] = array.base + group * array.bytes_per_group +
                              row * array.bytes_per_row + padded_row * array.bytes_per_padded_row;
    }
    if (args.rows != nullptr) args.rows[group] = static_cast<std::int32_t>(rows);
    row += rows;
    padded_row += round_up(rows, 4);
    args.row_offsets[group + 1] = row;
  }
  if (args.error_word != nullptr) *args.error_word |= error;
}

}  // namespace kernels
