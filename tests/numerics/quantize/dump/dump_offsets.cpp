// Splits to row offsets, counts and pointers. Pointers are written as distances from their base.
#include <array>

#include "kernels/offsets/splits_to_offsets.h"
#include "tests/numerics/quantize/dump/recipes.h"

namespace quantize_dump {

void dump_offsets(const Case& test) {
  const auto splits = test.values<std::int64_t>("splits");
  const auto strides = test.values<std::int64_t>("strides");  // group, row, padded row: an array
  const std::size_t groups = splits.size();
  const std::size_t arrays = strides.size() / 3;
  std::vector<std::int64_t> row_offsets(groups + 2, -7);
  std::vector<std::int32_t> rows(groups + 1, -7);
  std::vector<std::vector<void*>> pointers(arrays, std::vector<void*>(groups + 1));
  std::vector<std::uint32_t> error = {static_cast<std::uint32_t>(test.integer("error"))};
  auto* base = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);  // never dereferenced
  kernels::SplitsToOffsetsArgs args{.splits = splits.data(),
                                    .num_groups = static_cast<int>(groups),
                                    .capacity_rows = test.integer("capacity"),
                                    .row_offsets = row_offsets.data(),
                                    .rows = test.flag("rows") ? rows.data() : nullptr,
                                    .num_pointer_arrays = static_cast<int>(arrays),
                                    .error_word = test.flag("word") ? error.data() : nullptr};
  for (std::size_t i = 0; i < arrays; ++i) {
    args.pointer_arrays[i] = {.base = base,
                              .bytes_per_group = strides[3 * i],
                              .bytes_per_row = strides[3 * i + 1],
                              .bytes_per_padded_row = strides[3 * i + 2],
                              .pointers = pointers[i].data()};
  }
  kernels::splits_to_offsets_cpu(args);
  std::vector<std::int64_t> distances;
  for (const std::vector<void*>& array : pointers) {
    for (std::size_t g = 0; g < groups; ++g) {
      distances.push_back(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(array[g]) -
                                                    reinterpret_cast<std::uintptr_t>(base)));
    }
  }
  test.write("row_offsets", row_offsets);
  test.write("rows", rows);
  test.write("distances", distances);
  test.write("error", error);
}

}  // namespace quantize_dump
