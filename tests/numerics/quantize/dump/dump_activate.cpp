// An activation or its gradient alone.
#include "kernels/activation/activate.h"
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

}  // namespace quantize_dump
