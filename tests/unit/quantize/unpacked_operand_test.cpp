// Hand-written codes and scales, read back as plain arrays.
#include "engine/quantize/unpacked_operand.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/quantize/quantize_nvfp4.h"

namespace engine {
namespace {

using kernels::Direction;

struct Hand {
  OperandLayout layout;
  std::vector<std::int64_t> splits;
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  std::vector<float> amax;
  std::int64_t columns;
  UnpackedOperand unpacked = {};

  Hand(const Recipe& recipe, Direction direction, std::vector<std::int64_t> rows, std::int64_t k)
      : splits(std::move(rows)), columns(k) {
    for (const std::int64_t count : splits) offsets.push_back(offsets.back() + count);
    layout = operand_layout(recipe, OperandRole::Activations, direction, extent());
    codes.assign(static_cast<std::size_t>(layout.code_capacity), 0);
    scales.assign(static_cast<std::size_t>(layout.scale_capacity), 0);
    amax.assign(splits.size(), 2688.0F);  // the factor is then the E4M3 scale itself
  }
  OperandExtent extent() const {
    return {.capacity_rows = offsets.back(),
            .num_groups = static_cast<int>(splits.size()),
            .columns = columns};
  }
  void unpack() {
    const kernels::QuantizedView view = quantized_view(layout, extent(),
                                                       {.codes = codes.data(),
                                                        .scales = scales.data(),
                                                        .amax = amax.data(),
                                                        .row_offsets = offsets.data()});
    unpack_operand(view, unpacked);
  }
  float decoded(std::int64_t row, std::int64_t column) const {
    return unpacked.decoded.get()[row * columns + column];
  }
};

TEST(UnpackedOperand, ReadsMxfp8BothWays) {
  Hand row({.scaling = Scaling::Mxfp8}, Direction::Rowwise, {1, 2}, 48);
  // Group 1, row 1, column 40: the second block of a line of 4 scales, 128 lines a group.
  row.codes[2 * 48 + 40] = 0x38;  // 1.0
  row.scales[512 + 1 * 4 + 1] = 130;
  row.unpack();
  EXPECT_EQ(row.decoded(2, 40), 8.0F);
  EXPECT_EQ(row.decoded(2, 39), 0.0F);

  Hand column({.scaling = Scaling::Mxfp8}, Direction::Columnwise, {1, 40}, 16);
  // Group 1, row 35: block 1 of lines that are 128 columns apart.
  column.codes[36 * 16 + 3] = 0x40;  // 2.0
  column.scales[512 + 128 + 3] = 126;
  column.unpack();
  EXPECT_EQ(column.decoded(36, 3), 1.0F);
}

TEST(UnpackedOperand, ReadsNvfp4BothWays) {
  Hand row({.scaling = Scaling::Nvfp4}, Direction::Rowwise, {2}, 32);
  row.codes[16 + 9] = 0x7A;  // row 1: column 18 is -1 (0xA), column 19 is 6 (0x7)
  row.scales[4 + 1] = 0x40;  // 2.0
  row.unpack();
  EXPECT_EQ(row.decoded(1, 18), -2.0F);
  EXPECT_EQ(row.decoded(1, 19), 12.0F);
  EXPECT_EQ(row.unpacked.codes.get()[32 + 19], 7);

  Hand column({.scaling = Scaling::Nvfp4, .hadamard = false}, Direction::Columnwise, {1, 17}, 16);
  // Group 0 takes 16 lines of 8 bytes; group 1 lines of 16: row 16 of column 5 is byte 8's low
  // half.
  column.codes[16 * 8 + 5 * 16 + 8] = 0x03;  // 1.5
  column.scales[512 + 5 * 4 + 1] = 0x38;     // 1.0
  column.unpack();
  EXPECT_EQ(column.decoded(17, 5), 1.5F);
}

TEST(UnpackedOperand, UndoesTheTransform) {
  Hand hand({.scaling = Scaling::Nvfp4}, Direction::Columnwise, {16}, 16);
  ASSERT_TRUE(hand.layout.hadamard);
  // y = (4, 4, ..., 4) is what x = 16 at the first element alone becomes.
  for (int byte = 0; byte < 8; ++byte) hand.codes[static_cast<std::size_t>(byte)] = 0x66;
  hand.scales[0] = 0x38;
  hand.unpack();
  const float sign = (kernels::kHadamardSigns & 1) != 0 ? -1.0F : 1.0F;
  EXPECT_EQ(hand.decoded(0, 0), sign * 16.0F);
  for (int row = 1; row < 16; ++row) EXPECT_EQ(hand.decoded(row, 0), 0.0F);
}

}  // namespace
}  // namespace engine
