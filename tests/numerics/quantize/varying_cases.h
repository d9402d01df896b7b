// Operands whose groups differ in columns, shared by the CPU and the GPU tests.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/varying_groups.h"
#include "kernels/dequantize/quantized_view.h"

namespace quantize_tests {

struct VaryingCase {
  std::string name;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;
  std::int64_t spare_elements = 0;  // multiple of 16

  int num_groups() const { return static_cast<int>(rows.size()); }
  std::int64_t elements() const {
    std::int64_t sum = 0;
    for (std::size_t g = 0; g < rows.size(); ++g) sum += rows[g] * columns[g];
    return sum;
  }
  std::int64_t all_rows() const {
    std::int64_t sum = 0;
    for (const std::int64_t own : rows) sum += own;
    return sum;
  }
};

inline void PrintTo(const VaryingCase& varying, std::ostream* stream) { *stream << varying.name; }

inline std::vector<VaryingCase> varying_cases() {
  VaryingCase many{.name = "Groups300", .rows = {}, .columns = {}, .spare_elements = 48};
  for (std::int64_t g = 0; g < 300; ++g) {
    many.rows.push_back(g * 7 % 40);
    many.columns.push_back(16 * (g * 5 % 13));
  }
  VaryingCase most{.name = "Groups1024", .rows = {}, .columns = {}};
  for (std::int64_t g = 0; g < 1024; ++g) {
    most.rows.push_back(g % 3);
    most.columns.push_back(16 * (1 + g % 9));
  }
  return {
      {.name = "LastDims", .rows = {256, 256, 256}, .columns = {128, 256, 512}},
      {.name = "UnevenLastDims", .rows = {80, 80, 80}, .columns = {128, 144, 16}},
      {.name = "BothDims",
       .rows = {128, 0, 200, 1, 33, 97},
       .columns = {256, 640, 144, 2880, 272, 16},
       .spare_elements = 160},
      {.name = "EmptyGroups", .rows = {0, 0, 64, 0, 5}, .columns = {16, 0, 1040, 0, 528}},
      {.name = "AllEmpty", .rows = {0, 0}, .columns = {0, 128}, .spare_elements = 32},
      {.name = "TwoGroups", .rows = {300, 129}, .columns = {400, 1296}},
      std::move(many),
      std::move(most),
  };
}

/// Sizes that the plain layouts have, written out (quantize_block.h, micro_scales.h): what arrays
/// of offsets are checked against, and sized by.
inline std::int64_t scales_of_group(kernels::ScaleLayout layout, bool columnwise, std::int64_t m,
                                    std::int64_t n) {
  using kernels::ScaleLayout;
  const auto up = [](std::int64_t count, std::int64_t unit) {
    return (count + unit - 1) / unit * unit;
  };
  const std::int64_t across = up(n, 128) / 128;
  const std::int64_t down = up(m, 128) / 128;
  switch (layout) {
    case ScaleLayout::PerTensor:
      return 1;
    case ScaleLayout::BlockLine:
      return columnwise ? down * up(n, 4) : across * up(m, 4);
    case ScaleLayout::BlockSquare:
      return columnwise ? across * up(down, 4) : down * up(across, 4);
    default:
      break;
  }
  const bool nv = layout == ScaleLayout::Nv1x16 || layout == ScaleLayout::Nv16x16;
  const std::int64_t block = nv ? 16 : 32;
  const std::int64_t outer = columnwise ? n : m;
  const std::int64_t inner = columnwise ? m : n;
  return up(outer, 128) * up(up(inner, block) / block, 4);
}

inline kernels::ExtentUnits units_of_scales(kernels::ScaleLayout layout, bool columnwise) {
  using kernels::ScaleLayout;
  switch (layout) {
    case ScaleLayout::BlockLine:
      return columnwise ? kernels::kLineColumnwiseScales : kernels::kLineRowwiseScales;
    case ScaleLayout::BlockSquare:
      return columnwise ? kernels::kSquareColumnwiseScales : kernels::kSquareRowwiseScales;
    case ScaleLayout::Nv1x16:
    case ScaleLayout::Nv16x16:
      return columnwise ? kernels::kNvfp4ColumnwiseScales : kernels::kNvfp4RowwiseScales;
    default:
      return kernels::kMxfp8Scales;
  }
}

}  // namespace quantize_tests
