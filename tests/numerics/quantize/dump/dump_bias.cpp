// Bias partials alone, and the gradient that is made of them.
#include "kernels/bias/bias.h"
#include "tests/numerics/quantize/dump/recipes.h"

namespace quantize_dump {

void dump_bias(const Case& test) {
  const Operand operand(test);
  const kernels::GroupedInput& input = operand.input;
  std::vector<float> partials = float_buffer(
      kernels::bias_partial_capacity(input.capacity_rows, input.num_groups, input.columns));
  kernels::bias_partials_cpu({.input = input, .partials = partials.data()});
  const kernels::InputType output_type = input_type(test.text("output_type", "bf16"));
  auto gradient = test.values<std::uint8_t>("gradient_before");
  kernels::reduce_bias_gradient_cpu({.partials = partials.data(),
                                     .row_offsets = input.row_offsets,
                                     .num_groups = input.num_groups,
                                     .columns = input.columns,
                                     .output_type = output_type,
                                     .gradient = gradient.data(),
                                     .accumulate = test.flag("accumulate")});
  test.write("partials", partials);
  test.write("gradient", gradient);
}

}  // namespace quantize_dump
