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
  kernels::IntegerType split_type = kernels::IntegerType::Int64;
  std::uint32_t error_before = 0;
  std::int64_t padded_rows_unit = 128;
  std::vector<kernels::OffsetArray> offset_arrays = {};    // without addresses
  std::vector<kernels::PointerArray> pointer_arrays = {};  // without addresses
};

/// Outputs are one element longer than they may become, to see that nothing is written there.
struct OffsetsResult {
  std::vector<std::int64_t> row_offsets;
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> padded_rows;
  std::vector<std::vector<std::int32_t>> narrow;    // the 32-bit offset arrays
  std::vector<std::vector<std::int64_t>> wide;      // the 64-bit ones
  std::vector<std::vector<std::int64_t>> pointers;  // bytes from kPointerBase
  std::uint32_t error_word = 0;
  bool operator==(const OffsetsResult&) const = default;
};

inline constexpr std::int64_t kSentinel = -77;
inline constexpr std::uintptr_t kPointerBase = std::uintptr_t{1} << 32;  // never dereferenced

inline std::vector<std::int32_t> narrow_splits(const std::vector<std::int64_t>& splits) {
  std::vector<std::int32_t> narrow;
  for (const std::int64_t split : splits) narrow.push_back(static_cast<std::int32_t>(split));
  return narrow;
}

/// What was never written keeps the sentinel.
inline std::vector<std::int64_t> distances_from_base(const std::vector<std::int64_t>& addresses) {
  std::vector<std::int64_t> distances;
  for (const std::int64_t address : addresses) {
    distances.push_back(address == kSentinel ? kSentinel
                                             : address - static_cast<std::int64_t>(kPointerBase));
  }
  return distances;
}

/// Eight arrays of either kind: five units (one of them no power of two), both types, with and
/// without the leading zero, strides of 0 and odd ones.
inline void add_all_arrays(OffsetsCase& test) {
  using enum kernels::IntegerType;
  test.offset_arrays = {{.type = Int64, .unit = 128, .stride = 128},
                        {.type = Int32, .unit = 128, .stride = 1},
                        {.type = Int32, .leading_zero = false},
                        {.type = Int64, .leading_zero = false, .unit = 4, .stride = 57},
                        {.type = Int64, .unit = 1, .stride = 7168},
                        {.type = Int32, .unit = 16, .stride = 0},
                        {.type = Int64, .unit = 48, .stride = -3},
                        {.type = Int32, .leading_zero = false, .unit = 128, .stride = 2}};
  test.pointer_arrays = {{.bytes_per_group = 1000},
                         {.bytes_per_unit = 7168},
                         {.bytes_per_unit = 229, .unit = 4},
                         {.bytes_per_group = 3, .bytes_per_unit = 1, .unit = 128},
                         {.bytes_per_unit = 512, .unit = 48},
                         {.bytes_per_unit = 0, .unit = 16},
                         {.bytes_per_group = -8, .bytes_per_unit = 2},
                         {.bytes_per_unit = 14337, .unit = 128}};
}

/// The most pointer arrays a launch takes, all with the units of add_all_arrays().
inline void fill_pointer_arrays(OffsetsCase& test) {
  add_all_arrays(test);
  const std::vector<kernels::PointerArray> given = test.pointer_arrays;
  while (test.pointer_arrays.size() < kernels::kMaxPointerArrays) {
    const std::size_t i = test.pointer_arrays.size();
    test.pointer_arrays.push_back(given[i % given.size()]);
    test.pointer_arrays.back().bytes_per_group += static_cast<std::int64_t>(i);
  }
}

/// As many arrays as a launch takes, all of different units: more than any real step needs.
inline void add_distinct_units(OffsetsCase& test) {
  for (int i = 0; i < kernels::kMaxOffsetArrays; ++i) {
    test.offset_arrays.push_back({.unit = 2 + i, .stride = 2 + i});
  }
  for (int i = 0; i < kernels::kMaxPointerArrays; ++i) {
    const std::int64_t unit = i % 2 == 0 ? std::int64_t{32} << i : 11 + 2 * i;
    test.pointer_arrays.push_back({.bytes_per_unit = i, .unit = unit});
  }
}

}  // namespace quantize_tests
