// Splits for the offsets launch and its CPU twin, and the outputs in a form that two runs can be
// compared by.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/offsets/splits_to_offsets.h"

namespace quantize_tests {

struct OffsetsCase {
  std::vector<std::int64_t> splits;
  std::int64_t capacity_rows = 0;
  std::uint32_t error_before = 0;
  std::int64_t row_bytes = 7;
};

struct OffsetsResult {
  std::vector<std::int64_t> row_offsets;
  std::vector<std::int32_t> rows;
  std::vector<std::vector<std::int64_t>> pointer_offsets;  // bytes from the array's base
  std::uint32_t error_word = 0;
  bool operator==(const OffsetsResult&) const = default;
};

/// Four arrays: by group, by row, by padded row, by all three. Bases are never dereferenced.
inline std::vector<kernels::PointerArray> pointer_arrays(std::int64_t row_bytes) {
  auto* base = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 32);
  return {{.base = base, .bytes_per_group = 1000},
          {.base = base, .bytes_per_row = row_bytes},
          {.base = base, .bytes_per_padded_row = 1},
          {.base = base,
           .bytes_per_group = 1000,
           .bytes_per_row = row_bytes,
           .bytes_per_padded_row = 1}};
}

inline std::vector<std::int64_t> distances_from_base(const std::vector<void*>& pointers,
                                                     const std::byte* base) {
  std::vector<std::int64_t> distances;
  for (const void* pointer : pointers) {
    distances.push_back(reinterpret_cast<std::intptr_t>(pointer) -
                        reinterpret_cast<std::intptr_t>(base));
  }
  return distances;
}

inline OffsetsResult offsets_cpu(const OffsetsCase& test) {
  const std::size_t groups = test.splits.size();
  OffsetsResult result{.row_offsets = std::vector<std::int64_t>(groups + 1, -1),
                       .rows = std::vector<std::int32_t>(groups, -1),
                       .pointer_offsets = {},
                       .error_word = test.error_before};
  std::vector<kernels::PointerArray> arrays = pointer_arrays(test.row_bytes);
  std::vector<std::vector<void*>> pointers(arrays.size(), std::vector<void*>(groups));
  kernels::SplitsToOffsetsArgs args{.splits = test.splits.data(),
                                    .num_groups = static_cast<int>(groups),
                                    .capacity_rows = test.capacity_rows,
                                    .row_offsets = result.row_offsets.data(),
                                    .rows = result.rows.data(),
                                    .num_pointer_arrays = static_cast<int>(arrays.size()),
                                    .error_word = &result.error_word};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    args.pointer_arrays[i] = arrays[i];
    args.pointer_arrays[i].pointers = pointers[i].data();
  }
  kernels::splits_to_offsets_cpu(args);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    result.pointer_offsets.push_back(distances_from_base(pointers[i], arrays[i].base));
  }
  return result;
}

}  // namespace quantize_tests
