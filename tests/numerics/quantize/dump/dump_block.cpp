// FP8 block scaling, lines and squares, either direction or both.
#include "kernels/bias/bias.h"
#include "kernels/quantize/quantize_block.h"
#include "tests/numerics/quantize/dump/recipes.h"

namespace quantize_dump {

void dump_block(const Case& test) {
  const Operand operand(test);
  const kernels::GroupedInput& input = operand.input;
  const bool square = test.flag("square");
  const std::int64_t block = test.integer("block");
  const std::int64_t capacity = operand.output_capacity;
  const auto row_scales =
      square ? kernels::block_square_scale_capacity : kernels::block_line_scale_capacity;
  const auto column_scales = square ? kernels::block_square_columnwise_scale_capacity
                                    : kernels::block_line_columnwise_scale_capacity;
  struct Buffers {
    std::vector<std::uint8_t> codes;
    std::vector<float> scale_inv;
    std::vector<float> amax;
    kernels::BlockOutput output() {
      return {.codes = codes.data(), .scale_inv = scale_inv.data(), .block_amax = amax.data()};
    }
  };
  const auto buffers = [&](std::int64_t scales) {
    return Buffers{.codes = byte_buffer(capacity * input.columns),
                   .scale_inv = float_buffer(scales),
                   .amax = float_buffer(scales)};
  };
  Buffers row = buffers(row_scales(capacity, input.num_groups, input.columns, block));
  Buffers column = buffers(column_scales(capacity, input.num_groups, input.columns, block));
  std::vector<float> partials = float_buffer(
      kernels::bias_partial_capacity(input.capacity_rows, input.num_groups, input.columns));
  const kernels::QuantizeBlockArgs args{
      .input = input,
      .output_rows = operand.output_rows,
      .format = test.format(),
      .block = static_cast<int>(block),
      .options = test.options(),
      .rowwise = test.rowwise() ? row.output() : kernels::BlockOutput{},
      .columnwise = test.columnwise() ? column.output() : kernels::BlockOutput{},
      .bias_partials = test.flag("bias") ? partials.data() : nullptr,
      .controls = operand.controls};
  (square ? kernels::quantize_block_squares_cpu : kernels::quantize_block_lines_cpu)(args);
  test.write("row_codes", row.codes);
  test.write("row_scale_inv", row.scale_inv);
  test.write("row_amax", row.amax);
  test.write("column_codes", column.codes);
  test.write("column_scale_inv", column.scale_inv);
  test.write("column_amax", column.amax);
  test.write("partials", partials);
}

}  // namespace quantize_dump
