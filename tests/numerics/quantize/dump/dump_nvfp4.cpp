// NVFP4: the groups' amax, then the codes.
#include "kernels/quantize/quantize_nvfp4.h"
#include "tests/numerics/quantize/dump/recipes.h"

namespace quantize_dump {

void dump_nvfp4(const Case& test) {
  const Operand operand(test);
  const kernels::GroupedInput& input = operand.input;
  const std::int64_t capacity = operand.output_capacity;
  std::vector<float> row_amax = float_buffer(input.num_groups);
  std::vector<float> column_amax = float_buffer(input.num_groups);
  kernels::nvfp4_amax_cpu({.input = input,
                           .hadamard = test.flag("hadamard"),
                           .rowwise_amax = test.rowwise() ? row_amax.data() : nullptr,
                           .columnwise_amax = test.columnwise() ? column_amax.data() : nullptr,
                           .noop = operand.controls.noop});
  std::vector<std::uint8_t> row_codes = byte_buffer(capacity * input.columns / 2);
  std::vector<std::uint8_t> column_codes = byte_buffer(
      kernels::nvfp4_columnwise_code_capacity(capacity, input.num_groups, input.columns));
  std::vector<std::uint8_t> row_scales = byte_buffer(kernels::micro_rowwise_scale_capacity(
      capacity, input.num_groups, input.columns, kernels::kNvBlock));
  std::vector<std::uint8_t> column_scales = byte_buffer(kernels::micro_columnwise_scale_capacity(
      capacity, input.num_groups, input.columns, kernels::kNvBlock));
  const auto random_state = test.values<std::uint64_t>("random_state");
  kernels::QuantizeNvfp4Args args{
      .input = input,
      .output_rows = operand.output_rows,
      .square_blocks = test.flag("square"),
      .hadamard = test.flag("hadamard"),
      .stochastic_rounding = test.flag("stochastic"),
      .random_state = random_state.empty() ? nullptr : random_state.data(),
      .layout = test.flag("swizzled") ? kernels::MicroScaleLayout::Swizzled
                                      : kernels::MicroScaleLayout::Compact,
      .controls = operand.controls};
  if (test.rowwise()) {
    args.rowwise = {
        .codes = row_codes.data(), .scales = row_scales.data(), .amax = row_amax.data()};
  }
  if (test.columnwise()) {
    args.columnwise = {
        .codes = column_codes.data(), .scales = column_scales.data(), .amax = column_amax.data()};
  }
  kernels::quantize_nvfp4_cpu(args);
  test.write("row_amax", row_amax);
  test.write("row_codes", row_codes);
  test.write("row_scales", row_scales);
  test.write("column_amax", column_amax);
  test.write("column_codes", column_codes);
  test.write("column_scales", column_scales);
}

}  // namespace quantize_dump
