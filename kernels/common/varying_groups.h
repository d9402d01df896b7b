// Grouped operands whose groups differ in columns as well as in rows. Each group is a whole
// row-major matrix, and the groups follow one another: no element of one lies between those of
// another. offsets/varying_offsets.h makes the arrays.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

/// Beside the row offsets of a GroupedInput, whose own `columns` is not read.
struct VaryingGroups {
  const std::int64_t* columns = nullptr;   // [num_groups], multiples of 16
  const std::int64_t* elements = nullptr;  // [num_groups + 1] where each group begins
  std::int64_t capacity_elements = 0;      // that the operand was allocated for
};

/// What an array holds of a group of m rows and n columns: stride * ceil_div(m, row_unit) *
/// ceil_div(n, column_unit) values.
struct ExtentUnits {
  std::int64_t row_unit = 1;
  std::int64_t column_unit = 1;
  std::int64_t stride = 1;

  KERNELS_HOST_DEVICE constexpr std::int64_t of(std::int64_t rows, std::int64_t columns) const {
    return stride * ((rows + row_unit - 1) / row_unit) *
           ((columns + column_unit - 1) / column_unit);
  }
};

// There are as many codes as elements; NVFP4's rowwise codes take half as many bytes. Scales of
// quantize_block.h are counted in floats, those of quantize_mxfp8.h and quantize_nvfp4.h in bytes;
// columns are multiples of 16.
inline constexpr ExtentUnits kLineRowwiseScales = {4, 128, 4};
inline constexpr ExtentUnits kLineColumnwiseScales = {128, 4, 4};
inline constexpr ExtentUnits kSquareRowwiseScales = {128, 512, 4};
inline constexpr ExtentUnits kSquareColumnwiseScales = {512, 128, 4};
inline constexpr ExtentUnits kMxfp8Scales = {128, 128, 512};  // both directions
inline constexpr ExtentUnits kNvfp4RowwiseScales = {128, 64, 512};
inline constexpr ExtentUnits kNvfp4ColumnwiseScales = {64, 128, 512};
inline constexpr ExtentUnits kNvfp4ColumnwiseCodes = {16, 1, 8};

/// Where the codes and scales of each group begin in the outputs of a quantize kernel, or in what a
/// dequantize kernel reads: sums of ExtentUnits over the groups before. Null where the direction is
/// skipped, or has one scale per group.
struct VaryingPlaces {
  const std::int64_t* rowwise_scales = nullptr;     // [num_groups + 1]
  const std::int64_t* columnwise_scales = nullptr;  // [num_groups + 1]
  const std::int64_t* columnwise_codes = nullptr;   // [num_groups + 1], NVFP4 alone; else those of
                                                    // a group begin where its elements do
};

/// One group as an operand of its own.
struct GroupPlace {
  int group = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t element = 0;
  std::int64_t rowwise_scale = 0;
  std::int64_t columnwise_scale = 0;
  std::int64_t columnwise_code = 0;
};

KERNELS_HOST_DEVICE inline GroupPlace place_of_group(const std::int64_t* row_offsets,
                                                     const VaryingGroups& groups,
                                                     const VaryingPlaces& places, int group) {
  const auto at = [&](const std::int64_t* values) { return values != nullptr ? values[group] : 0; };
  return {.group = group,
          .rows = row_offsets[group + 1] - row_offsets[group],
          .columns = groups.columns[group],
          .element = groups.elements[group],
          .rowwise_scale = at(places.rowwise_scales),
          .columnwise_scale = at(places.columnwise_scales),
          .columnwise_code = at(places.columnwise_codes)};
}

/// A skipped array stays null.
template <class Value>
KERNELS_HOST_DEVICE constexpr Value* shifted(Value* values, std::int64_t count) {
  return values != nullptr ? values + count : nullptr;
}

}  // namespace kernels
