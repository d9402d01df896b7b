// A small rectangle of a quantized operand as plain lines, on the host: codes (one per byte),
// factors, decoded values. Dequantize and the statistics read every layout through it.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "kernels/common/fp8_codes.h"
#include "kernels/dequantize/group_view.h"

namespace kernels {

/// Rows and columns of one group.
struct PatchPlace {
  int group = 0;
  std::int64_t row = 0;  // inside the group
  std::int64_t column = 0;
  int rows = 0;
  int columns = 0;
};

/// Lines have `columns` elements each. Thread-local memory.
struct DecodedPatch {
  static constexpr int kMaxElements = 128 * 128;
  std::vector<std::uint8_t> codes = std::vector<std::uint8_t>(kMaxElements);
  std::vector<float> factors = std::vector<float>(kMaxElements);
  std::vector<float> values = std::vector<float>(kMaxElements);
};

/// Shape that suits the layout: parts of rows if rows are contiguous in memory, squares for
/// transposed codes. Row blocks of 16 or more rows start at a patch.
struct PatchShape {
  int rows = 0;
  int columns = 0;
};
PatchShape patch_shape(const QuantizedView& view);

/// All patches of the groups' first `rows[g]` rows, group by group, row by row.
std::vector<PatchPlace> patch_places(const std::vector<std::int64_t>& rows, std::int64_t columns,
                                     const PatchShape& shape);

/// Fills all three arrays; `place` comes from patch_places(). A Hadamard transform is undone in
/// `values`; codes and factors are those of the transformed elements.
void decode_patch(const QuantizedView& view, const GroupView& group, const PatchPlace& place,
                  DecodedPatch& patch);

// Values of all codes of a quantized operand, before scaling.

inline constexpr std::array<float, 16> kE2m1Values = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,
                                                      4.0F,  6.0F,  -0.0F, -0.5F, -1.0F, -1.5F,
                                                      -2.0F, -3.0F, -4.0F, -6.0F};

/// 256 values of FP8, 16 of E2M1.
inline std::span<const float> code_values(const QuantizedView& view) {
  if (is_nvfp4(view.layout)) return kE2m1Values;
  return fp8_values(view.format);
}

}  // namespace kernels
