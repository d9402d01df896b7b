// FP8 scales as MXFP8's: the bytes against logarithms of the scales taken one by one, the values
// against those of the FP8 operand, and what is refused.
#include "kernels/dequantize/widen_scales.h"

#include <gtest/gtest.h>

#include "kernels/dequantize/dequantize.h"
#include "tests/numerics/quantize/block_outputs.h"
#include "tests/numerics/quantize/plain_reference.h"

namespace quantize_tests {
namespace {

using kernels::Direction;
using kernels::InputType;
using kernels::MicroScaleLayout;
using kernels::ScaleLayout;

struct Widened {
  std::vector<std::uint8_t> bytes;
  kernels::RefusedScales refused;
};

Widened widen(const kernels::QuantizedView& view, MicroScaleLayout layout) {
  std::int64_t count = 0;
  for (int g = 0; g < view.num_groups; ++g) {
    const std::int64_t rows = view.row_offsets[g + 1] - view.row_offsets[g];
    count += view.direction == Direction::Rowwise
                 ? kernels::micro_scale_bytes(rows, view.columns, 32)
                 : kernels::micro_scale_bytes(view.columns, rows, 32);
  }
  Widened widened;
  widened.bytes.assign(static_cast<std::size_t>(count), kCodeSentinel);
  kernels::widen_scales_cpu({.quantized = view,
                             .layout = layout,
                             .scales = widened.bytes.data(),
                             .refused = &widened.refused});
  return widened;
}

/// A block-scaled operand with scales that are powers of two.
struct Quantized {
  Operand operand;
  BlockOutputs outputs;
  bool square;

  Quantized(const GroupedCase& grouped, bool square_blocks, bool pow2 = true)
      : operand(grouped, InputType::Bf16, Fill::Wild),
        outputs(operand.input, operand.input.capacity_rows, square_blocks),
        square(square_blocks) {
    kernels::QuantizeBlockArgs args{.input = operand.input, .options = {.pow2 = pow2}};
    outputs.aim(args, true, true, false);
    run_twin(args, square);
  }
  DirectionOutputs& of(Direction direction) {
    return direction == Direction::Rowwise ? outputs.rowwise : outputs.columnwise;
  }
  kernels::QuantizedView view(Direction direction) {
    return {.codes = of(direction).codes.data(),
            .layout = square ? ScaleLayout::BlockSquare : ScaleLayout::BlockLine,
            .direction = direction,
            .scales = of(direction).scale_inv.data(),
            .row_offsets = operand.row_offsets.data(),
            .num_groups = operand.input.num_groups,
            .capacity_rows = operand.input.capacity_rows,
            .columns = operand.input.columns};
  }
};

/// Where the scale of an element lies in its group, as quantize_block.h's table says.
std::int64_t defined_place(bool square, Direction direction, std::int64_t rows,
                           std::int64_t columns, std::int64_t row, std::int64_t column) {
  const auto four = [](std::int64_t count) { return (count + 3) / 4 * 4; };
  const std::int64_t across = (columns + 127) / 128;
  const std::int64_t down = (rows + 127) / 128;
  if (direction == Direction::Rowwise) {
    return square ? row / 128 * four(across) + column / 128 : column / 128 * four(rows) + row;
  }
  return square ? column / 128 * four(down) + row / 128 : row / 128 * four(columns) + column;
}
std::int64_t defined_span(bool square, Direction direction, std::int64_t rows,
                          std::int64_t columns) {
  const auto four = [](std::int64_t count) { return (count + 3) / 4 * 4; };
  const std::int64_t across = (columns + 127) / 128;
  const std::int64_t down = (rows + 127) / 128;
  if (direction == Direction::Rowwise) return square ? down * four(across) : across * four(rows);
  return square ? across * four(down) : down * four(columns);
}

/// Compact bytes, one by one.
std::vector<std::uint8_t> defined_bytes(Quantized& quantized, Direction direction) {
  const kernels::GroupedInput& input = quantized.operand.input;
  const bool rowwise = direction == Direction::Rowwise;
  std::vector<std::uint8_t> bytes;
  std::size_t first = 0;
  for (int g = 0; g < input.num_groups; ++g) {
    const std::int64_t rows = input.row_offsets[g + 1] - input.row_offsets[g];
    const std::int64_t down = rowwise ? (rows + 127) / 128 * 128 : (rows + 127) / 128 * 4;
    const std::int64_t across =
        rowwise ? (input.columns + 127) / 128 * 4 : (input.columns + 127) / 128 * 128;
    for (std::int64_t y = 0; y < down; ++y) {
      for (std::int64_t x = 0; x < across; ++x) {
        const std::int64_t row = rowwise ? y : 32 * y;
        const std::int64_t column = rowwise ? 32 * x : x;
        if (row >= rows || column >= input.columns) {
          bytes.push_back(0);
          continue;
        }
        const std::size_t place =
            first + static_cast<std::size_t>(defined_place(quantized.square, direction, rows,
                                                           input.columns, row, column));
        const float scale = std::bit_cast<float>(quantized.of(direction).scale_inv[place]);
        bytes.push_back(static_cast<std::uint8_t>(std::ilogb(scale) + 127));
      }
    }
    first +=
        static_cast<std::size_t>(defined_span(quantized.square, direction, rows, input.columns));
  }
  return bytes;
}

class WidenScales : public testing::TestWithParam<GroupedCase> {};

TEST_P(WidenScales, BytesAreTheLogarithmsOfTheScales) {
  for (const bool square : {false, true}) {
    Quantized quantized(GetParam(), square);
    for (const Direction direction : {Direction::Rowwise, Direction::Columnwise}) {
      const Widened widened = widen(quantized.view(direction), MicroScaleLayout::Compact);
      EXPECT_EQ(widened.refused.blocks, 0U);
      EXPECT_EQ(widened.refused.first, ~std::uint64_t{0});
      ASSERT_EQ(widened.bytes, defined_bytes(quantized, direction));
    }
  }
}

/// The codes of each group as MXFP8 stores them: never transposed.
std::vector<std::uint8_t> untransposed(Quantized& quantized) {
  const kernels::GroupedInput& input = quantized.operand.input;
  std::vector<std::uint8_t> codes = quantized.outputs.columnwise.codes;
  for (int g = 0; g < input.num_groups; ++g) {
    const std::int64_t first = input.row_offsets[g] * input.columns;
    const std::int64_t rows = input.row_offsets[g + 1] - input.row_offsets[g];
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < input.columns; ++column) {
        codes[static_cast<std::size_t>(first + row * input.columns + column)] =
            quantized.outputs.columnwise
                .codes[static_cast<std::size_t>(first + column * rows + row)];
      }
    }
  }
  return codes;
}

std::vector<std::uint32_t> decoded(const kernels::QuantizedView& view) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(view.capacity_rows * view.columns));
  kernels::dequantize_cpu({.quantized = view, .output = bits.data()});
  return bits;
}

TEST_P(WidenScales, TheSameCodesDecodeToTheSameBits) {
  for (const bool square : {false, true}) {
    Quantized quantized(GetParam(), square);
    const std::vector<std::uint8_t> plain_codes = untransposed(quantized);
    for (const Direction direction : {Direction::Rowwise, Direction::Columnwise}) {
      for (const MicroScaleLayout layout :
           {MicroScaleLayout::Compact, MicroScaleLayout::Swizzled}) {
        kernels::QuantizedView view = quantized.view(direction);
        const std::vector<std::uint32_t> expected = decoded(view);
        const Widened widened = widen(view, layout);
        view.layout = ScaleLayout::Mx1x32;
        view.micro_layout = layout;
        view.scales = widened.bytes.data();
        if (direction == Direction::Columnwise) view.codes = plain_codes.data();
        ASSERT_EQ(decoded(view), expected);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, WidenScales, testing::ValuesIn(grouped_cases()),
                         [](const auto& param) { return param.param.name; });

TEST(WidenScale, EveryPowerOfTwoThatE8m0HoldsAndNothingElse) {
  for (int exponent = -149; exponent <= 127; ++exponent) {
    const float power = std::ldexp(1.0F, exponent);
    const int expected = exponent >= -127 ? exponent + 127 : kernels::kNoScaleByte;
    EXPECT_EQ(kernels::exact_scale_byte(std::bit_cast<std::uint32_t>(power)), expected) << exponent;
    for (const float other :
         {-power, std::nextafter(power, 0.0F), std::nextafter(power, 2 * power), 1.5F * power}) {
      const bool also_power = other > 0.0F && std::ldexp(1.0F, std::ilogb(other)) == other;
      if (also_power) continue;  // next to a subnormal power of two there is another
      EXPECT_EQ(kernels::exact_scale_byte(std::bit_cast<std::uint32_t>(other)),
                kernels::kNoScaleByte)
          << other;
    }
  }
  for (const float other : {0.0F, -0.0F, INFINITY, -INFINITY, NAN}) {
    EXPECT_EQ(kernels::exact_scale_byte(std::bit_cast<std::uint32_t>(other)),
              kernels::kNoScaleByte);
  }
}

TEST(WidenScale, ARefusedScaleIsNamedCountedAndLeavesNaN) {
  const GroupedCase grouped{.name = "", .splits = {100, 0, 200, 3}, .columns = 272};
  struct Place {
    int group;
    std::int64_t row, column;
    std::uint64_t line_blocks, square_blocks;  // of 32 that lose their scale, rowwise
  };
  // The last column block of 272 has 16 columns: one block of 32.
  for (const Place& place :
       {Place{0, 99, 128, 4, 4 * 100}, Place{2, 130, 256, 1, 72}, Place{3, 2, 0, 4, 4 * 3}}) {
    for (const bool square : {false, true}) {
      Quantized quantized(grouped, square);
      const kernels::QuantizedView view = quantized.view(Direction::Rowwise);
      const std::int64_t rows = view.row_offsets[place.group + 1] - view.row_offsets[place.group];
      std::int64_t index =
          defined_place(square, Direction::Rowwise, rows, 272, place.row, place.column);
      for (int g = 0; g < place.group; ++g) {
        index += defined_span(square, Direction::Rowwise,
                              view.row_offsets[g + 1] - view.row_offsets[g], 272);
      }
      quantized.outputs.rowwise.scale_inv[static_cast<std::size_t>(index)] =
          std::bit_cast<std::uint32_t>(0.75F);
      const Widened widened = widen(view, MicroScaleLayout::Swizzled);
      const std::uint64_t blocks = square ? place.square_blocks : place.line_blocks;
      EXPECT_EQ(widened.refused.blocks, blocks);
      EXPECT_EQ(
          static_cast<std::uint64_t>(std::count(widened.bytes.begin(), widened.bytes.end(), 0xFF)),
          blocks);
      const kernels::RefusedScale first = kernels::first_refused(view, widened.refused);
      EXPECT_EQ(first.group, place.group);
      EXPECT_EQ(first.row, square ? place.row / 128 * 128 : place.row);
      EXPECT_EQ(first.column, place.column);
      EXPECT_EQ(first.value, 0.75F);
    }
  }
}

TEST(WidenScale, ColumnwiseAndPerTensorScalesAreNamedToo) {
  const GroupedCase grouped{.name = "", .splits = {100, 0, 200}, .columns = 272};
  Quantized quantized(grouped, false);
  const kernels::QuantizedView view = quantized.view(Direction::Columnwise);
  const std::int64_t index = defined_span(false, Direction::Columnwise, 100, 272) +
                             defined_place(false, Direction::Columnwise, 200, 272, 128, 271);
  quantized.outputs.columnwise.scale_inv[static_cast<std::size_t>(index)] =
      std::bit_cast<std::uint32_t>(3.0F);
  const kernels::RefusedScales refused = widen(view, MicroScaleLayout::Compact).refused;
  EXPECT_EQ(refused.blocks, 3U);  // 72 rows
  const kernels::RefusedScale first = kernels::first_refused(view, refused);
  EXPECT_EQ(first.group, 2);
  EXPECT_EQ(first.row, 128);
  EXPECT_EQ(first.column, 271);

  const std::vector<float> of_groups = {0.5F, 0.3F, -1.0F};
  kernels::QuantizedView tensor = view;
  tensor.layout = ScaleLayout::PerTensor;
  tensor.scales = of_groups.data();
  const kernels::RefusedScales of_tensor = widen(tensor, MicroScaleLayout::Compact).refused;
  // The second group has no rows, so its scale is not asked for.
  EXPECT_EQ(of_tensor.blocks, 7U * 272U);
  EXPECT_EQ(kernels::first_refused(tensor, of_tensor).group, 2);
  EXPECT_EQ(kernels::first_refused(tensor, of_tensor).value, -1.0F);
}

TEST(WidenScale, BlocksSmallerThan32AndByteScalesCannotBeWidened) {
  EXPECT_TRUE(kernels::can_widen({.layout = ScaleLayout::PerTensor}));
  EXPECT_TRUE(kernels::can_widen({.layout = ScaleLayout::BlockLine, .block = 32}));
  EXPECT_FALSE(kernels::can_widen({.layout = ScaleLayout::BlockLine, .block = 16}));
  EXPECT_FALSE(kernels::can_widen({.layout = ScaleLayout::Mx1x32}));
  EXPECT_FALSE(kernels::can_widen({.layout = ScaleLayout::Nv16x16}));
}

}  // namespace
}  // namespace quantize_tests
