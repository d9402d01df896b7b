// Host reference of the step.
#include "tests/gpu/backend/host_step.h"

#include <bit>

#include "engine/input/element_rounding.h"
#include "engine/quantize/quantize_cpu.h"
#include "kernels/dequantize/dequantize.h"

namespace engine::testing {
namespace {

using kernels::Direction;

std::vector<std::int64_t> offsets_of(const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> offsets = {0};
  for (const std::int64_t count : rows) offsets.push_back(offsets.back() + count);
  return offsets;
}

struct Reading {
  const std::vector<std::uint16_t>& values;
  std::vector<std::int64_t> row_offsets;
  std::int64_t columns = 0;
  OperandRole role = OperandRole::Activations;
  Direction direction = Direction::Rowwise;
  int steps = 1;
};

/// The values the product multiplies: dequantized codes, or the BF16 values themselves.
std::vector<float> effective_values(const StepConfig& config, const Reading& reading) {
  std::vector<float> values(reading.values.size());
  if (!config.quantized()) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = bf16_to_float(reading.values[i]);
    return values;
  }
  const auto groups = static_cast<int>(reading.row_offsets.size()) - 1;
  CpuQuantizer quantizer({.recipe = config.recipe,
                          .role = reading.role,
                          .direction = reading.direction,
                          .input = {.input = reading.values.data(),
                                    .type = kernels::InputType::Bf16,
                                    .row_offsets = reading.row_offsets.data(),
                                    .num_groups = groups,
                                    .capacity_rows = reading.row_offsets.back(),
                                    .columns = reading.columns},
                          .seed = config.seed});
  for (int step = 0; step < reading.steps; ++step) quantizer.quantize();
  kernels::dequantize_cpu({.quantized = quantizer.view(), .output = values.data()});
  // An emulated product reads BF16.
  for (float& value : values) {
    if (config.emulated) value = bf16_to_float(bf16_bits(value));
  }
  return values;
}

struct Sizes {
  std::vector<std::int64_t> rows;     // offsets of tokens
  std::vector<std::int64_t> weights;  // offsets of W's rows
  std::size_t n;
  std::size_t k;
};

Sizes sizes_of(const StepConfig& config, const std::vector<std::int64_t>& splits) {
  return {.rows = offsets_of(splits),
          .weights = offsets_of(std::vector<std::int64_t>(splits.size(), config.n())),
          .n = static_cast<std::size_t>(config.n()),
          .k = static_cast<std::size_t>(config.k())};
}

}  // namespace

std::vector<std::uint16_t> random_bf16(std::int64_t count, std::uint64_t seed, float deviation) {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(count));
  std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  for (std::uint16_t& out : bits) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const float unit = static_cast<float>(state >> 40) / static_cast<float>(1 << 23) - 1.0F;
    // Truncated, not rounded: any BF16 value will do.
    out = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(unit * deviation) >> 16);
  }
  return bits;
}

float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::vector<double> host_fprop(const StepConfig& config, const std::vector<std::int64_t>& splits,
                               const HostOperands& operands, int steps) {
  const auto [rows, weights, n, k] = sizes_of(config, splits);
  const std::vector<float> x = effective_values(
      config, {.values = operands.x, .row_offsets = rows, .columns = config.k(), .steps = steps});
  const std::vector<float> w = effective_values(config, {.values = operands.w,
                                                         .row_offsets = weights,
                                                         .columns = config.k(),
                                                         .role = OperandRole::Weights,
                                                         .steps = steps});
  std::vector<double> y(static_cast<std::size_t>(rows.back()) * n);
  for (std::size_t group = 0; group < splits.size(); ++group) {
    for (auto row = static_cast<std::size_t>(rows[group]);
         row < static_cast<std::size_t>(rows[group + 1]); ++row) {
      for (std::size_t column = 0; column < n; ++column) {
        double sum = 0.0;
        for (std::size_t i = 0; i < k; ++i) {
          sum += double{x[row * k + i]} * double{w[(group * n + column) * k + i]};
        }
        if (!operands.bias.empty()) {
          // Added to the rounded product.
          sum = bf16_to_float(bf16_bits(static_cast<float>(sum)));
          sum += bf16_to_float(operands.bias[group * n + column]);
        }
        y[row * n + column] = sum;
      }
    }
  }
  return y;
}

std::vector<double> host_dgrad(const StepConfig& config, const std::vector<std::int64_t>& splits,
                               const HostOperands& operands, int steps) {
  const auto [rows, weights, n, k] = sizes_of(config, splits);
  const std::vector<float> dy = effective_values(config, {.values = operands.dy,
                                                          .row_offsets = rows,
                                                          .columns = config.n(),
                                                          .role = OperandRole::Gradients,
                                                          .steps = steps});
  const std::vector<float> w = effective_values(config, {.values = operands.w,
                                                         .row_offsets = weights,
                                                         .columns = config.k(),
                                                         .role = OperandRole::Weights,
                                                         .direction = Direction::Columnwise,
                                                         .steps = steps});
  std::vector<double> dx(static_cast<std::size_t>(rows.back()) * k);
  for (std::size_t group = 0; group < splits.size(); ++group) {
    for (auto row = static_cast<std::size_t>(rows[group]);
         row < static_cast<std::size_t>(rows[group + 1]); ++row) {
      for (std::size_t column = 0; column < n; ++column) {
        const double gradient = dy[row * n + column];
        const float* const w_row = w.data() + (group * n + column) * k;
        for (std::size_t i = 0; i < k; ++i) dx[row * k + i] += gradient * double{w_row[i]};
      }
    }
  }
  return dx;
}

std::vector<double> host_wgrad(const StepConfig& config, const std::vector<std::int64_t>& splits,
                               const HostOperands& operands, int steps) {
  const auto [rows, weights, n, k] = sizes_of(config, splits);
  const std::vector<float> dy = effective_values(config, {.values = operands.dy,
                                                          .row_offsets = rows,
                                                          .columns = config.n(),
                                                          .role = OperandRole::Gradients,
                                                          .direction = Direction::Columnwise,
                                                          .steps = steps});
  const std::vector<float> x = effective_values(config, {.values = operands.x,
                                                         .row_offsets = rows,
                                                         .columns = config.k(),
                                                         .direction = Direction::Columnwise,
                                                         .steps = steps});
  std::vector<double> dw(static_cast<std::size_t>(weights.back()) * k);
  for (std::size_t group = 0; group < splits.size(); ++group) {
    for (auto row = static_cast<std::size_t>(rows[group]);
         row < static_cast<std::size_t>(rows[group + 1]); ++row) {
      for (std::size_t column = 0; column < n; ++column) {
        const double gradient = dy[row * n + column];
        double* const dw_row = dw.data() + (group * n + column) * k;
        for (std::size_t i = 0; i < k; ++i) dw_row[i] += gradient * double{x[row * k + i]};
      }
    }
  }
  return dw;
}

}  // namespace engine::testing
