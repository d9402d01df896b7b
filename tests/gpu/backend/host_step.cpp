// Host reference of the step.
#include "tests/gpu/backend/host_step.h"

#include <bit>

#include "kernels/amax/group_amax.h"
#include "kernels/dequantize/dequantize.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace engine::testing {
namespace {

std::vector<std::int64_t> offsets_of(const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> offsets = {0};
  for (const std::int64_t count : rows) offsets.push_back(offsets.back() + count);
  return offsets;
}

struct HostOperand {
  const std::vector<std::uint16_t>& values;
  std::vector<std::int64_t> row_offsets;
  Fp8Format format;
  bool activations;
};

/// The values the product multiplies: dequantized codes, or the BF16 values themselves.
std::vector<float> effective_values(const StepConfig& config, const HostOperand& operand) {
  std::vector<float> values(operand.values.size());
  if (!config.fp8()) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = bf16_to_float(operand.values[i]);
    return values;
  }
  const auto groups = static_cast<int>(operand.row_offsets.size()) - 1;
  const kernels::GroupedInput input{
      .input = operand.values.data(),
      .type = kernels::InputType::Bf16,
      .row_offsets = operand.row_offsets.data(),
      .num_groups = groups,
      .capacity_rows = static_cast<std::int64_t>(operand.values.size()) / config.k,
      .columns = config.k};
  const kernels::ScaleOptions options{.pow2 = config.recipe.pow2_scales,
                                      .amax_epsilon = config.recipe.amax_epsilon};
  std::vector<std::uint8_t> codes(operand.values.size());
  std::vector<float> scale_inv(static_cast<std::size_t>(
      operand.activations ? config.activation_scales() : config.weight_scales()));
  kernels::ScaleLayout layout = kernels::ScaleLayout::PerTensor;
  if (config.block()) {
    const kernels::QuantizeBlockArgs args{
        .input = input,
        .format = operand.format,
        .options = options,
        .rowwise = {.codes = codes.data(), .scale_inv = scale_inv.data()}};
    if (operand.activations) {
      layout = kernels::ScaleLayout::Block1x128;
      kernels::quantize_block_1x128_cpu(args);
    } else {
      layout = kernels::ScaleLayout::Block128x128;
      kernels::quantize_block_128x128_cpu(args);
    }
  } else {
    std::vector<float> amax(static_cast<std::size_t>(groups));
    std::vector<float> scale(static_cast<std::size_t>(groups));
    kernels::group_amax_cpu({.input = input, .amax = amax.data()});
    kernels::per_tensor_scale_cpu({.amax = amax.data(),
                                   .num_groups = groups,
                                   .format = operand.format,
                                   .options = options,
                                   .scale = scale.data(),
                                   .scale_inv = scale_inv.data()});
    kernels::quantize_per_tensor_cpu(
        {.input = input, .format = operand.format, .scale = scale.data(), .rowwise = codes.data()});
  }
  kernels::dequantize_cpu({.quantized = {.codes = codes.data(),
                                         .format = operand.format,
                                         .layout = layout,
                                         .scales = scale_inv.data(),
                                         .row_offsets = operand.row_offsets.data(),
                                         .num_groups = groups,
                                         .capacity_rows = input.capacity_rows,
                                         .columns = config.k},
                           .output = values.data()});
  return values;
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
    // Cut, not rounded: any BF16 value will do.
    out = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(unit * deviation) >> 16);
  }
  return bits;
}

float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::vector<double> host_product(const StepConfig& config, const std::vector<std::int64_t>& splits,
                                 const std::vector<std::uint16_t>& activations,
                                 const std::vector<std::uint16_t>& weights) {
  const std::vector<std::int64_t> offsets = offsets_of(splits);
  const std::vector<std::int64_t> weight_rows(splits.size(), config.n);
  const std::vector<float> x = effective_values(config, {.values = activations,
                                                         .row_offsets = offsets,
                                                         .format = config.recipe.activation_format,
                                                         .activations = true});
  const std::vector<float> w = effective_values(config, {.values = weights,
                                                         .row_offsets = offsets_of(weight_rows),
                                                         .format = Fp8Format::E4m3,
                                                         .activations = false});
  const auto n = static_cast<std::size_t>(config.n);
  const auto k = static_cast<std::size_t>(config.k);
  std::vector<double> y(static_cast<std::size_t>(offsets.back()) * n);
  for (std::size_t group = 0; group < splits.size(); ++group) {
    for (auto row = static_cast<std::size_t>(offsets[group]);
         row < static_cast<std::size_t>(offsets[group + 1]); ++row) {
      for (std::size_t column = 0; column < n; ++column) {
        const float* const x_row = x.data() + row * k;
        const float* const w_row = w.data() + (group * n + column) * k;
        double sum = 0.0;
        for (std::size_t i = 0; i < k; ++i) sum += double{x_row[i]} * double{w_row[i]};
        y[row * n + column] = sum;
      }
    }
  }
  return y;
}

}  // namespace engine::testing
