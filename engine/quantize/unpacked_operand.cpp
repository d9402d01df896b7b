#include "engine/quantize/unpacked_operand.h"

#include <bit>
#include <limits>

#include "kernels/dequantize/decode_patch.h"
#include "kernels/quantize/quantize_nvfp4.h"

namespace engine {
namespace {

using kernels::Direction;

float e8m0_value(std::uint8_t byte) {
  if (byte == 255) return std::numeric_limits<float>::quiet_NaN();
  if (byte == 0) return 0x1p-127F;
  return std::bit_cast<float>(static_cast<std::uint32_t>(byte) << 23);
}

/// Reads the codes and factors of one group.
class GroupReader {
 public:
  GroupReader(const OperandLayout& layout, const kernels::QuantizedView& view, int group,
              std::int64_t rows, std::int64_t first_scale, std::int64_t first_byte)
      : layout_(layout),
        view_(view),
        group_(group),
        rows_(rows),
        grid_(scale_grid(layout, rows, view.columns)),
        first_scale_(first_scale),
        first_byte_(first_byte) {}

  std::uint8_t code(std::int64_t row, std::int64_t column) const {
    const bool columnwise = layout_.direction == Direction::Columnwise;
    if (layout_.e2m1()) {
      const std::int64_t line = columnwise ? column : row;
      const std::int64_t place = columnwise ? row : column;
      const std::int64_t pitch =
          (columnwise ? kernels::round_up(rows_, kernels::kNvBlock) : view_.columns) / 2;
      const std::uint8_t pair = view_.codes[first_byte_ + line * pitch + place / 2];
      return place % 2 == 0 ? pair & 0xF : pair >> 4;
    }
    return view_.codes[first_byte_ +
                       (layout_.transposed ? column * rows_ + row : row * view_.columns + column)];
  }

  float factor(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = first_scale_ + row / grid_.block_rows * grid_.row_stride +
                            column / grid_.block_columns * grid_.column_stride;
    if (layout_.fp32_scales()) return static_cast<const float*>(view_.scales)[at];
    const std::uint8_t byte = static_cast<const std::uint8_t*>(view_.scales)[at];
    if (!layout_.e2m1()) return e8m0_value(byte);
    return kernels::kE4m3Values[byte] * view_.amax[group_] * (1.0F / 2688.0F);
  }

 private:
  const OperandLayout& layout_;
  const kernels::QuantizedView& view_;
  int group_;
  std::int64_t rows_;
  ScaleGrid grid_;
  std::int64_t first_scale_;
  std::int64_t first_byte_;
};

}  // namespace

std::span<const float> code_values(const OperandLayout& layout) {
  if (layout.e2m1()) return kernels::kE2m1Values;
  return kernels::fp8_values(layout.format);
}

void hadamard_transform(std::array<float, 16>& block) {
  for (std::size_t distance = 1; distance < 16; distance *= 2) {
    for (std::size_t i = 0; i < 16; ++i) {
      if ((i & distance) != 0) continue;
      const float low = block[i];
      const float high = block[i + distance];
      block[i] = low + high;
      block[i + distance] = low - high;
    }
  }
  for (float& value : block) value *= 0.25F;
}

void unpack_operand(const OperandLayout& layout, const kernels::QuantizedView& view,
                    std::span<const std::int64_t> splits, UnpackedOperand& out) {
  const std::int64_t columns = view.columns;
  const std::int64_t elements = view.row_offsets[view.num_groups] * columns;
  std::uint8_t* codes = out.codes.reserve(elements);
  float* factors = out.factors.reserve(elements);
  float* decoded = out.decoded.reserve(elements);
  const std::span<const float> values = code_values(layout);
  std::int64_t first_scale = 0;
  for (int group = 0; group < view.num_groups; ++group) {
    const std::int64_t rows = splits[static_cast<std::size_t>(group)];
    const auto before = splits.first(static_cast<std::size_t>(group));
    const GroupReader reader(layout, view, group, rows, first_scale,
                             written_code_bytes(layout, before, columns));
    const std::int64_t first = view.row_offsets[group] * columns;
#pragma omp parallel for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        const std::int64_t i = first + row * columns + column;
        codes[i] = reader.code(row, column);
        factors[i] = reader.factor(row, column);
        decoded[i] = values[codes[i]] * factors[i];
      }
    }
    first_scale += scale_grid(layout, rows, columns).span;
    if (!layout.hadamard) continue;
#pragma omp parallel for schedule(static)
    for (std::int64_t column = 0; column < columns; ++column) {
      for (std::int64_t top = 0; top < rows; top += 16) {
        // Rows beyond the group count as 0, but their transformed neighbours have codes.
        std::array<float, 16> block;
        for (std::int64_t j = 0; j < 16; ++j) {
          block[static_cast<std::size_t>(j)] =
              values[reader.code(top + j, column)] * reader.factor(top, column);
        }
        hadamard_transform(block);
        for (std::int64_t j = 0; j < 16 && top + j < rows; ++j) {
          const bool minus = (kernels::kHadamardSigns >> j & 1) != 0;
          const float value = block[static_cast<std::size_t>(j)];
          decoded[first + (top + j) * columns + column] = minus ? -value : value;
        }
      }
    }
  }
}

}  // namespace engine
