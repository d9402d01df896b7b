// MXFP8, compact or swizzled scales, lines or squares.
#include "kernels/bias/bias.h"
#include "kernels/quantize/quantize_mxfp8.h"
#include "tests/numerics/quantize/dump/recipes.h"

namespace quantize_dump {

void dump_mxfp8(const Case& test) {
  const Operand operand(test);
  const kernels::GroupedInput& input = operand.input;
  const std::int64_t capacity = operand.output_capacity;
  std::vector<std::uint8_t> row_codes = byte_buffer(capacity * input.columns);
  std::vector<std::uint8_t> column_codes = byte_buffer(capacity * input.columns);
  std::vector<std::uint8_t> row_scales = byte_buffer(kernels::micro_rowwise_scale_capacity(
      capacity, input.num_groups, input.columns, kernels::kMxBlock));
  std::vector<std::uint8_t> column_scales = byte_buffer(kernels::micro_columnwise_scale_capacity(
      capacity, input.num_groups, input.columns, kernels::kMxBlock));
  std::vector<float> partials = float_buffer(
      kernels::bias_partial_capacity(input.capacity_rows, input.num_groups, input.columns));
  kernels::QuantizeMxfp8Args args{.input = input,
                                  .output_rows = operand.output_rows,
                                  .format = test.format(),
                                  .square_blocks = test.flag("square"),
                                  .layout = test.flag("swizzled")
                                                ? kernels::MicroScaleLayout::Swizzled
                                                : kernels::MicroScaleLayout::Compact,
                                  .bias_partials = test.flag("bias") ? partials.data() : nullptr,
                                  .controls = operand.controls};
  if (test.rowwise()) args.rowwise = {.codes = row_codes.data(), .scales = row_scales.data()};
  if (test.columnwise()) {
    args.columnwise = {.codes = column_codes.data(), .scales = column_scales.data()};
  }
  kernels::quantize_mxfp8_cpu(args);
  test.write("row_codes", row_codes);
  test.write("row_scales", row_scales);
  test.write("column_codes", column_codes);
  test.write("column_scales", column_scales);
  test.write("partials", partials);
}

}  // namespace quantize_dump
