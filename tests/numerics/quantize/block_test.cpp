// CPU twins of block scaling in both directions, by properties that relate them to the rowwise
// codes of unpadded rows, which quantize_test checks against the definition: a columnwise block is
// a rowwise block of the transposed group, padding is zeros in the input, SwiGLU is a separate pass
// before.
#include <gtest/gtest.h>

#include "kernels/activation/activate.h"
#include "kernels/bias/bias.h"
#include "tests/numerics/quantize/block_outputs.h"

namespace quantize_tests {
namespace {

using kernels::InputType;

/// Overwrites `alone` with one group of `operand`, its missing rows zeros, transposed if asked.
void extract(const Operand& operand, int group, bool transposed, Operand& alone) {
  const kernels::GroupedInput& input = operand.input;
  const std::size_t size = element_format(input.type).bytes();
  std::fill(alone.bytes.begin(), alone.bytes.end(), std::uint8_t{0});
  const std::int64_t begin = input.row_offsets[group];
  for (std::int64_t row = begin; row < input.row_offsets[group + 1]; ++row) {
    for (std::int64_t column = 0; column < input.columns; ++column) {
      const std::int64_t target = transposed ? column * alone.input.columns + row - begin
                                             : (row - begin) * alone.input.columns + column;
      std::memcpy(
          alone.bytes.data() + static_cast<std::size_t>(target) * size,
          operand.bytes.data() + static_cast<std::size_t>(row * input.columns + column) * size,
          size);
    }
  }
}

/// Codes and scales of one group in `all`, from `cursor` on, which moves to the next group.
template <typename Value>
bool next_equal(const std::vector<Value>& all, std::size_t first, const std::vector<Value>& group,
                std::size_t count) {
  return std::equal(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(count),
                    all.begin() + static_cast<std::ptrdiff_t>(first));
}

bool matches(const DirectionOutputs& all, Cursor& cursor, const DirectionOutputs& group,
             bool square, const kernels::GroupedInput& alone) {
  const std::int64_t bx = kernels::ceil_div(alone.columns, 128);
  const auto scales = static_cast<std::size_t>(
      square ? kernels::ceil_div(alone.capacity_rows, 128) * kernels::round_up(bx, 4)
             : bx * kernels::round_up(alone.capacity_rows, 4));
  const bool equal = next_equal(all.codes, cursor.code, group.codes, group.codes.size()) &&
                     next_equal(all.scale_inv, cursor.scale, group.scale_inv, scales) &&
                     next_equal(all.amax, cursor.scale, group.amax, scales);
  cursor.code += group.codes.size();
  cursor.scale += scales;
  return equal;
}

class BlockTwins : public testing::TestWithParam<bool> {};  // whether blocks are square

TEST_P(BlockTwins, DirectionsAndPaddingEqualRowwiseOfExtractedGroups) {
  const bool square = GetParam();
  for (const GroupedCase& grouped : grouped_cases()) {
    if (grouped.splits.size() > 100) continue;
    for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
      SCOPED_TRACE(grouped.name);
      const Operand operand(grouped, type, Fill::Wild);
      const std::vector<std::int64_t> padded = padded_offsets(operand.row_offsets, 16);
      BlockOutputs outputs(operand.input, padded.back(), square);
      kernels::QuantizeBlockArgs args{.input = operand.input,
                                      .output_rows = {padded.data(), padded.back()}};
      outputs.aim(args, true, true, false);
      run_twin(args, square);
      Cursor row_cursor;
      Cursor column_cursor;
      for (int group = 0; group < operand.input.num_groups; ++group) {
        const std::int64_t rows =
            padded[static_cast<std::size_t>(group) + 1] - padded[static_cast<std::size_t>(group)];
        if (rows == 0) continue;
        for (const bool transposed : {false, true}) {
          const std::int64_t columns = operand.input.columns;
          Operand alone({.name = "",
                         .splits = {transposed ? columns : rows},
                         .columns = transposed ? rows : columns},
                        type, Fill::Mild);
          extract(operand, group, transposed, alone);
          BlockOutputs expected(alone.input, alone.input.capacity_rows, square);
          kernels::QuantizeBlockArgs plain{.input = alone.input};
          expected.aim(plain, true, false, false);
          run_twin(plain, square);
          ASSERT_TRUE(matches(transposed ? outputs.columnwise : outputs.rowwise,
                              transposed ? column_cursor : row_cursor, expected.rowwise, square,
                              alone.input));
        }
      }
    }
  }
}

TEST_P(BlockTwins, ColumnwisePaddingAloneLeavesTheRowsWhereTheyAre) {
  const bool square = GetParam();
  for (const GroupedCase& grouped : grouped_cases()) {
    if (grouped.splits.size() > 100) continue;
    SCOPED_TRACE(grouped.name);
    const Operand operand(grouped, InputType::Bf16, Fill::Wild);
    const std::vector<std::int64_t> padded = padded_offsets(operand.row_offsets, 16);
    const auto quantize = [&](const kernels::OutputRows& rows, std::int64_t capacity) {
      BlockOutputs outputs(operand.input, capacity, square);
      kernels::QuantizeBlockArgs args{.input = operand.input, .output_rows = rows};
      outputs.aim(args, true, true, false);
      run_twin(args, square);
      return outputs;
    };
    const BlockOutputs plain = quantize({}, operand.input.capacity_rows);
    const BlockOutputs all = quantize({padded.data(), padded.back()}, padded.back());
    const BlockOutputs some = quantize({padded.data(), padded.back(), true}, padded.back());
    EXPECT_EQ(some.columnwise, all.columnwise);
    // Outputs are sized for the padding; the plain ones are its beginning.
    EXPECT_TRUE(
        std::equal(plain.rowwise.codes.begin(),
                   plain.rowwise.codes.begin() + operand.row_offsets.back() * operand.input.columns,
                   some.rowwise.codes.begin()));
    const auto scales = static_cast<std::ptrdiff_t>(
        std::min(plain.rowwise.scale_inv.size(), some.rowwise.scale_inv.size()));
    EXPECT_TRUE(std::equal(plain.rowwise.scale_inv.begin(),
                           plain.rowwise.scale_inv.begin() + scales,
                           some.rowwise.scale_inv.begin()));
  }
}

TEST(JoinedLines, HoldTheCodesOfEachGroupSideBySide) {
  for (const GroupedCase& grouped : grouped_cases()) {
    if (grouped.splits.size() > 100) continue;
    SCOPED_TRACE(grouped.name);
    const Operand operand(grouped, InputType::Bf16, Fill::Wild);
    const std::vector<std::int64_t> padded =
        padded_offsets(operand.row_offsets, kernels::kJoinedUnit);
    const std::int64_t capacity = padded.back() + kernels::kJoinedUnit;  // more than is written
    const auto quantize = [&](bool joined) {
      BlockOutputs outputs(operand.input, capacity, false);
      kernels::QuantizeBlockArgs args{.input = operand.input,
                                      .output_rows = {.row_offsets = padded.data(),
                                                      .capacity_rows = capacity,
                                                      .columnwise_only = true,
                                                      .joined = joined}};
      outputs.aim(args, true, true, false);
      run_twin(args, false);
      return outputs;
    };
    const BlockOutputs apart = quantize(false);
    const BlockOutputs joined = quantize(true);
    EXPECT_EQ(joined.rowwise, apart.rowwise);
    EXPECT_EQ(joined.columnwise.scale_inv, apart.columnwise.scale_inv);
    EXPECT_EQ(joined.columnwise.amax, apart.columnwise.amax);
    std::vector<std::uint8_t> expected(joined.columnwise.codes.size(), kCodeSentinel);
    const std::int64_t columns = operand.input.columns;
    for (std::size_t group = 0; group + 1 < padded.size(); ++group) {
      const std::int64_t rows = padded[group + 1] - padded[group];
      for (std::int64_t column = 0; column < columns; ++column) {
        std::copy_n(apart.columnwise.codes.begin() + padded[group] * columns + column * rows, rows,
                    expected.begin() + column * capacity + padded[group]);
      }
    }
    EXPECT_EQ(joined.columnwise.codes, expected);
  }
}

TEST_P(BlockTwins, NoopKeepsAllButBiasPartials) {
  const bool square = GetParam();
  const Operand operand({.name = "", .splits = {130, 0, 5}, .columns = 144}, InputType::Bf16,
                        Fill::Mild);
  const float one = 1.0F;
  for (const bool columnwise : {false, true}) {
    BlockOutputs outputs(operand.input, operand.input.capacity_rows, square);
    BlockOutputs untouched(operand.input, operand.input.capacity_rows, square);
    kernels::QuantizeBlockArgs args{.input = operand.input, .controls = {.noop = &one}};
    outputs.aim(args, true, columnwise, columnwise);
    run_twin(args, square);
    EXPECT_EQ(outputs.rowwise, untouched.rowwise);
    EXPECT_EQ(outputs.columnwise, untouched.columnwise);
    if (columnwise) {
      kernels::bias_partials_cpu({.input = operand.input, .partials = as_floats(untouched.bias)});
    }
    EXPECT_EQ(outputs.bias, untouched.bias);
  }
}

TEST_P(BlockTwins, SwigluEqualsASeparatePassBefore) {
  const bool square = GetParam();
  for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
    const Operand operand({.name = "", .splits = {130, 0, 5}, .columns = 2 * 144}, type,
                          Fill::Wild);
    kernels::GroupedInput input = operand.input;
    input.columns /= 2;
    input.activation = kernels::kSwiglu;
    std::vector<std::uint8_t> activated(operand.bytes.size() / 2);
    kernels::activate_cpu({.input = input, .output = activated.data()});
    BlockOutputs fused(input, input.capacity_rows, square);
    BlockOutputs apart(input, input.capacity_rows, square);
    kernels::QuantizeBlockArgs args{.input = input};
    fused.aim(args, true, true, true);
    run_twin(args, square);
    args.input.activation = {};
    args.input.input = activated.data();
    apart.aim(args, true, true, true);
    run_twin(args, square);
    EXPECT_EQ(fused.rowwise, apart.rowwise);
    EXPECT_EQ(fused.columnwise, apart.columnwise);
    EXPECT_TRUE(equal_but_for_nans(fused.bias, apart.bias));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BlockTwins, testing::Bool(),
                         [](const auto& param) { return param.param ? "Square" : "Line"; });

}  // namespace
}  // namespace quantize_tests
