// The step of the grid at a code is the distance to the next larger magnitude; decoded / value of
// the code gives the factor between grid and data without knowing the layout of the scales.
#include "engine/quantize/element_errors.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/input/element_rounding.h"
#include "kernels/dequantize/fp8_decode.h"

namespace engine {
namespace {

struct Grid {
  std::array<double, 256> steps_per_value{};  // step / |value|; 0 where a code counts for nothing
  std::array<bool, 256> normal{};
};

Grid make_grid(kernels::Fp8Format format) {
  const int mantissa_bits = format == kernels::Fp8Format::E4m3 ? 3 : 2;
  const kernels::Fp8Values& values = kernels::fp8_values(format);
  Grid grid;
  for (std::size_t code = 0; code < 256; ++code) {
    const double value = std::abs(static_cast<double>(values[code]));
    if (!std::isfinite(value) || value == 0.0) continue;
    const std::size_t exponent = (code & 0x7F) >> mantissa_bits;
    // Subnormals share the step of the smallest normal binade, whose first code this is.
    const std::size_t binade = std::max<std::size_t>(exponent, 1) << mantissa_bits;
    const double step = static_cast<double>(values[binade]) / (1 << mantissa_bits);
    grid.steps_per_value[code] = step / value;
    grid.normal[code] = exponent != 0;
  }
  return grid;
}

}  // namespace

float element_value(const kernels::GroupedInput& input, std::int64_t i) {
  switch (input.type) {
    case kernels::InputType::Bf16:
      return bf16_value(static_cast<const std::uint16_t*>(input.input)[i]);
    case kernels::InputType::Fp16:
      return fp16_value(static_cast<const std::uint16_t*>(input.input)[i]);
    case kernels::InputType::Fp32:
      break;
  }
  return static_cast<const float*>(input.input)[i];
}

ElementErrors measure_errors(const kernels::GroupedInput& input, const kernels::QuantizedView& view,
                             const float* decoded) {
  const Grid grid = make_grid(view.format);
  const std::int64_t elements = input.row_offsets[input.num_groups] * input.columns;
  ElementErrors errors;
  errors.code_counts.assign(256, 0);
  double max_steps = 0.0;
#pragma omp parallel
  {
    std::array<std::uint64_t, 256> counts{};
    double relative = 0.0;
    double steps = 0.0;
#pragma omp for schedule(static) nowait
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::size_t code = view.codes[i];
      ++counts[code];
      const double x = element_value(input, i);
      const double value = decoded[i];
      const double step = grid.steps_per_value[code] * std::abs(value);
      if (!(step > 0.0) || !std::isfinite(x) || !std::isfinite(value)) continue;
      const double error = std::abs(x - value);
      steps = std::max(steps, error / step);
      if (grid.normal[code] && x != 0.0) relative = std::max(relative, error / std::abs(x));
    }
#pragma omp critical
    {
      errors.max_relative = std::max(errors.max_relative, relative);
      max_steps = std::max(max_steps, steps);
      for (std::size_t code = 0; code < 256; ++code) errors.code_counts[code] += counts[code];
    }
  }
  errors.max_ulp = static_cast<std::int64_t>(std::min(std::floor(max_steps + 0.5), 0x1p62));
  return errors;
}

}  // namespace engine
