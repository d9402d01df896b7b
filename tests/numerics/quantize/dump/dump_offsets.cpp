// Splits to offsets, dimensions and pointers. Pointers are written as distances from their base.
#include "kernels/offsets/splits_to_offsets.h"
#include "tests/numerics/quantize/dump/recipes.h"

namespace quantize_dump {

void dump_offsets(const Case& test) {
  using enum kernels::IntegerType;
  const auto splits = test.values<std::int64_t>("splits");
  const auto splits32 = test.values<std::int32_t>("splits32");  // taken if there are any
  // One pointer array each: bytes per group, bytes per unit, rows per unit.
  const auto strides = test.values<std::int64_t>("strides");
  // One offset array each: rows per unit, stride, 1 = 32 bits, 1 = leading zero.
  const auto forms = test.values<std::int64_t>("forms");
  const std::size_t groups = splits.size();
  const std::size_t pointer_arrays = strides.size() / 3;
  const std::size_t offset_arrays = forms.size() / 4;
  std::vector<std::int64_t> row_offsets(groups + 2, -7);
  std::vector<std::int32_t> rows(groups + 1, -7);
  std::vector<std::int32_t> padded_rows(groups + 1, -7);
  std::vector<std::int64_t> wide(offset_arrays * (groups + 2), -7);
  std::vector<std::int32_t> narrow(offset_arrays * (groups + 2), -7);
  std::vector<std::vector<void*>> pointers(pointer_arrays, std::vector<void*>(groups + 1));
  std::vector<std::uint32_t> error = {static_cast<std::uint32_t>(test.integer("error"))};
  auto* base = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);  // never dereferenced
  kernels::SplitsToOffsetsArgs args{
      .splits = splits32.empty() ? static_cast<const void*>(splits.data()) : splits32.data(),
      .split_type = splits32.empty() ? Int64 : Int32,
      .num_groups = static_cast<int>(groups),
      .capacity_rows = test.integer("capacity"),
      .row_offsets = row_offsets.data(),
      .rows = test.flag("rows") ? rows.data() : nullptr,
      .padded_rows = test.flag("rows") ? padded_rows.data() : nullptr,
      .padded_rows_unit = test.integer("padded_rows_unit"),
      .num_offset_arrays = static_cast<int>(offset_arrays),
      .num_pointer_arrays = static_cast<int>(pointer_arrays),
      .error_word = test.flag("word") ? error.data() : nullptr};
  for (std::size_t i = 0; i < offset_arrays; ++i) {
    const bool is_narrow = forms[4 * i + 2] != 0;
    args.offset_arrays[i] = {.values = is_narrow
                                           ? static_cast<void*>(narrow.data() + i * (groups + 2))
                                           : wide.data() + i * (groups + 2),
                             .type = is_narrow ? Int32 : Int64,
                             .leading_zero = forms[4 * i + 3] != 0,
                             .unit = forms[4 * i],
                             .stride = forms[4 * i + 1]};
  }
  for (std::size_t i = 0; i < pointer_arrays; ++i) {
    args.pointer_arrays[i] = {.base = base,
                              .bytes_per_group = strides[3 * i],
                              .bytes_per_unit = strides[3 * i + 1],
                              .unit = strides[3 * i + 2],
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
  test.write("padded_rows", padded_rows);
  test.write("wide", wide);
  test.write("narrow", narrow);
  test.write("distances", distances);
  test.write("error", error);
}

}  // namespace quantize_dump
