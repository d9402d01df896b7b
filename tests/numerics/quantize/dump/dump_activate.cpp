// An activation or its gradient alone; and the sigmoids in it, which an activation's rounding to
// the input's type would hide.
#include "kernels/activation/activate.h"
#include "kernels/common/activation_math.h"
#include "tests/numerics/quantize/dump/recipes.h"

namespace quantize_dump {

void dump_activate(const Case& test) {
  const Operand operand(test);
  const kernels::GroupedInput& input = operand.input;
  std::vector<std::uint8_t> output = byte_buffer(
      input.capacity_rows * input.columns * static_cast<std::int64_t>(element_bytes(input.type)));
  kernels::activate_cpu({.input = input, .output = output.data()});
  test.write("output", output);
}

void dump_sigmoid(const Case& test) {
  std::vector<float> values = test.values<float>("arguments");
  for (float& value : values) value = kernels::sigmoid(value);
  test.write("output", values);
}

}  // namespace quantize_dump
