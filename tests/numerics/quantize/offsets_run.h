// Runs an offsets case through a launch, with whatever memory the launch works in.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "tests/numerics/quantize/offsets_cases.h"

namespace quantize_tests {

/// Host memory with the interface of the GPU tests' DeviceArray.
template <typename Value>
class HostArray {
 public:
  explicit HostArray(std::vector<Value> values) : values_(std::move(values)) {}
  Value* get() { return values_.data(); }
  const std::vector<Value>& values() const { return values_; }

 private:
  std::vector<Value> values_;
};

template <template <typename> typename Array, typename Launch>
OffsetsResult run_offsets(const OffsetsCase& test, Launch launch) {
  using enum kernels::IntegerType;
  const std::size_t groups = test.splits.size();
  const std::size_t line = groups + 2;  // of the flat arrays
  Array<std::int64_t> wide_splits(test.splits);
  Array<std::int32_t> int32_splits(narrow_splits(test.splits));
  Array<std::int64_t> row_offsets(std::vector<std::int64_t>(line, kSentinel));
  Array<std::int32_t> rows(std::vector<std::int32_t>(groups + 1, kSentinel));
  Array<std::int32_t> padded_rows(std::vector<std::int32_t>(groups + 1, kSentinel));
  Array<std::int32_t> narrow(
      std::vector<std::int32_t>(line * test.offset_arrays.size(), kSentinel));
  Array<std::int64_t> wide(std::vector<std::int64_t>(line * test.offset_arrays.size(), kSentinel));
  Array<std::int64_t> pointers(
      std::vector<std::int64_t>(line * test.pointer_arrays.size(), kSentinel));
  Array<std::uint32_t> error_word(std::vector<std::uint32_t>{test.error_before});

  kernels::SplitsToOffsetsArgs args{
      .splits = test.split_type == Int32 ? static_cast<const void*>(int32_splits.get())
                                         : wide_splits.get(),
      .split_type = test.split_type,
      .num_groups = static_cast<int>(groups),
      .capacity_rows = test.capacity_rows,
      .row_offsets = row_offsets.get(),
      .rows = rows.get(),
      .padded_rows = padded_rows.get(),
      .padded_rows_unit = test.padded_rows_unit,
      .num_offset_arrays = static_cast<int>(test.offset_arrays.size()),
      .num_pointer_arrays = static_cast<int>(test.pointer_arrays.size()),
      .error_word = error_word.get()};
  for (std::size_t i = 0; i < test.offset_arrays.size(); ++i) {
    args.offset_arrays[i] = test.offset_arrays[i];
    args.offset_arrays[i].values = test.offset_arrays[i].type == Int32
                                       ? static_cast<void*>(narrow.get() + i * line)
                                       : wide.get() + i * line;
  }
  for (std::size_t i = 0; i < test.pointer_arrays.size(); ++i) {
    args.pointer_arrays[i] = test.pointer_arrays[i];
    args.pointer_arrays[i].base = reinterpret_cast<std::byte*>(kPointerBase);
    args.pointer_arrays[i].pointers = reinterpret_cast<void**>(pointers.get() + i * line);
  }
  launch(args);

  const auto lines = [&](const auto& flat, std::size_t count) {
    std::vector<std::decay_t<decltype(flat)>> split_up;
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(i * line);
      split_up.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(line));
    }
    return split_up;
  };
  return {.row_offsets = row_offsets.values(),
          .rows = rows.values(),
          .padded_rows = padded_rows.values(),
          .narrow = lines(narrow.values(), test.offset_arrays.size()),
          .wide = lines(wide.values(), test.offset_arrays.size()),
          .pointers = lines(distances_from_base(pointers.values()), test.pointer_arrays.size()),
          .error_word = error_word.values()[0]};
}

inline OffsetsResult offsets_cpu(const OffsetsCase& test) {
  return run_offsets<HostArray>(test, kernels::splits_to_offsets_cpu);
}

}  // namespace quantize_tests
