// Per-tensor scaling: current (amax, scale, cast), or the cast alone with scales from a file, as
// delayed scaling runs it.
#include "kernels/amax/group_amax.h"
#include "kernels/bias/bias.h"
#include "kernels/quantize/quantize_per_tensor.h"
#include "tests/numerics/quantize/dump/recipes.h"

namespace quantize_dump {

void dump_per_tensor(const Case& test) {
  const Operand operand(test);
  const kernels::GroupedInput& input = operand.input;
  std::vector<float> amax = float_buffer(input.num_groups);
  std::vector<float> scale = float_buffer(input.num_groups);
  std::vector<float> scale_inv = float_buffer(input.num_groups);
  std::vector<float> history = test.values<float>("amax_before");
  const bool stored = test.has("scale");
  std::vector<float> stored_inv = float_buffer(input.num_groups);
  if (stored) {
    scale = test.values<float>("scale");
  } else {
    kernels::group_amax_cpu({.input = input, .amax = amax.data(), .noop = operand.controls.noop});
    kernels::per_tensor_scale_cpu({.amax = amax.data(),
                                   .num_groups = input.num_groups,
                                   .format = test.format(),
                                   .options = test.options(),
                                   .scale = scale.data(),
                                   .scale_inv = scale_inv.data(),
                                   .noop = operand.controls.noop});
  }
  const std::int64_t count = operand.output_capacity * input.columns;
  std::vector<std::uint8_t> rowwise = byte_buffer(count);
  std::vector<std::uint8_t> columnwise = byte_buffer(count);
  std::vector<float> partials = float_buffer(
      kernels::bias_partial_capacity(input.capacity_rows, input.num_groups, input.columns));
  kernels::quantize_per_tensor_cpu({.input = input,
                                    .output_rows = operand.output_rows,
                                    .format = test.format(),
                                    .scale = scale.data(),
                                    .rowwise = test.rowwise() ? rowwise.data() : nullptr,
                                    .columnwise = test.columnwise() ? columnwise.data() : nullptr,
                                    .amax = history.empty() ? nullptr : history.data(),
                                    .scale_inv = stored ? stored_inv.data() : nullptr,
                                    .bias_partials = test.flag("bias") ? partials.data() : nullptr,
                                    .controls = operand.controls});
  test.write("amax", stored ? history : amax);
  test.write("scale", scale);
  test.write("scale_inv", stored ? stored_inv : scale_inv);
  test.write("row_codes", rowwise);
  test.write("column_codes", columnwise);
  test.write("partials", partials);
}

}  // namespace quantize_dump
