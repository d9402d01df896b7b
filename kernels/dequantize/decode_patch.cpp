// Codes first, then one line of factors per row (or one for all rows), then the products.
#include "kernels/dequantize/decode_patch.h"

#include <algorithm>

#include "kernels/common/element_run.h"
#include "kernels/dequantize/decode_rule.h"

namespace kernels {

namespace {

constexpr std::int64_t kSide = 128;

KERNELS_VECTOR_CLONES
void multiply(const std::uint8_t* codes, const float* factors, std::int64_t count,
              const float* values, float* output) {
  for (std::int64_t i = 0; i < count; ++i) output[i] = values[codes[i]] * factors[i];
}

void read_codes(const GroupView& group, const PatchPlace& place, std::uint8_t* codes) {
  const std::int64_t columns = place.columns;
  if (group.transposed()) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t first = (place.column + c) * group.column_pitch + place.row;
      if (group.e2m1()) {  // lines and patches start at whole bytes
        const std::uint8_t* pairs = group.codes + first / 2;
        for (std::int64_t r = 0; r < place.rows; ++r) {
          codes[r * columns + c] = static_cast<std::uint8_t>((pairs[r / 2] >> (r % 2 * 4)) & 0xF);
        }
      } else {
        for (std::int64_t r = 0; r < place.rows; ++r) {
          codes[r * columns + c] = group.codes[first + r];
        }
      }
    }
    return;
  }
  for (std::int64_t r = 0; r < place.rows; ++r) {
    const std::int64_t first = (place.row + r) * group.row_pitch + place.column;
    std::uint8_t* line = codes + r * columns;
    if (group.e2m1()) {
      const std::uint8_t* pairs = group.codes + first / 2;
      for (std::int64_t c = 0; c < columns / 2; ++c) {
        line[2 * c] = pairs[c] & 0xF;
        line[2 * c + 1] = static_cast<std::uint8_t>(pairs[c] >> 4);
      }
    } else {
      std::copy_n(group.codes + first, columns, line);
    }
  }
}

void read_factors(const GroupView& group, const PatchPlace& place, float* factors) {
  const std::int64_t columns = place.columns;
  for (std::int64_t r = 0; r < place.rows; ++r) {
    const std::int64_t row = place.row + r;
    float* line = factors + r * columns;
    if (r > 0 && row >> group.row_shift == (row - 1) >> group.row_shift) {
      std::copy_n(line - columns, columns, line);
      continue;
    }
    for (std::int64_t c = 0; c < columns;) {
      const std::int64_t column = place.column + c;
      const std::int64_t block_end = ((column >> group.column_shift) + 1) << group.column_shift;
      const std::int64_t end = std::min(columns, block_end - place.column);
      std::fill(line + c, line + end, factor_at(group, group.scale_index(row, column)));
      c = end;
    }
  }
}

void undo_hadamard(const QuantizedView& view, const GroupView& group, const PatchPlace& place,
                   DecodedPatch& patch) {
  const float* code_value = code_values(view).data();
  for (int top = 0; top < place.rows; top += 16) {
    for (int c = 0; c < place.columns; ++c) {
      // A group's last block has codes beyond its rows: they hold part of the rows' values.
      float block[16];
      for (int j = 0; j < 16; ++j) {
        const std::int64_t row = place.row + top + j;
        block[j] = top + j < place.rows
                       ? patch.values[static_cast<std::size_t>((top + j) * place.columns + c)]
                       : code_value[group.code(row, place.column + c)] *
                             patch.factors[static_cast<std::size_t>(top * place.columns + c)];
      }
      undo_hadamard_16(block);
      for (int j = 0; j < 16 && top + j < place.rows; ++j) {
        patch.values[static_cast<std::size_t>((top + j) * place.columns + c)] = block[j];
      }
    }
  }
}

}  // namespace

PatchShape patch_shape(const QuantizedView& view) {
  const bool columnwise = view.direction == Direction::Columnwise;
  if (columnwise && is_mxfp8(view.layout)) return {.rows = 32, .columns = kSide};
  if (columnwise) return {.rows = kSide, .columns = kSide};
  constexpr std::int64_t kElements = 2048;  // as FP32 a quarter of the first-level cache
  const std::int64_t rows = kElements / std::max<std::int64_t>(view.columns, 1);
  return {.rows = static_cast<int>(std::clamp<std::int64_t>(rows, 1, kSide)),
          .columns = static_cast<int>(kElements)};
}

std::vector<PatchPlace> patch_places(const std::vector<std::int64_t>& rows, std::int64_t columns,
                                     const PatchShape& shape) {
  std::vector<PatchPlace> places;
  for (std::size_t group = 0; group < rows.size(); ++group) {
    for (std::int64_t row = 0; row < rows[group]; row += shape.rows) {
      for (std::int64_t column = 0; column < columns; column += shape.columns) {
        places.push_back(
            {.group = static_cast<int>(group),
             .row = row,
             .column = column,
             .rows = static_cast<int>(std::min<std::int64_t>(shape.rows, rows[group] - row)),
             .columns = static_cast<int>(std::min<std::int64_t>(shape.columns, columns - column))});
      }
    }
  }
  return places;
}

void decode_patch(const QuantizedView& view, const GroupView& group, const PatchPlace& place,
                  DecodedPatch& patch) {
  read_codes(group, place, patch.codes.data());
  read_factors(group, place, patch.factors.data());
  multiply(patch.codes.data(), patch.factors.data(),
           static_cast<std::int64_t>(place.rows) * place.columns, code_values(view).data(),
           patch.values.data());
  if (view.hadamard) undo_hadamard(view, group, place, patch);
}

}  // namespace kernels
