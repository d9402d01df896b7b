// CPU twins of the bias gradient, in the order defined in bias.h.
#include "kernels/bias/bias.h"

#include <bit>

#include "kernels/common/element_run.h"
#include "kernels/common/input_elements.h"
#include "kernels/common/value_tile.h"

namespace kernels {

// CPU twin of the bias addition.
namespace {

template <InputType kType>
auto rounded_bits(float sum) {
  if constexpr (kType == InputType::Bf16) {
    return round_to_bf16(sum);
  } else if constexpr (kType == InputType::Fp16) {
    return round_to_fp16(sum);
  } else {
    return std::bit_cast<std::uint32_t>(sum);
  }
}

template <InputType kType, InputType kBias>
void add_rows(const AddBiasArgs& args) {
  using Bits = typename InputElement<kType>::Bits;
  auto* values = static_cast<Bits*>(args.values);
  const auto* bias = static_cast<const std::uint16_t*>(args.bias);
  for (int group = 0; group < args.num_groups; ++group) {
    const std::uint16_t* row_bias = bias + group * args.columns;
#pragma omp parallel for schedule(static)
    for (std::int64_t row = args.row_offsets[group]; row < args.row_offsets[group + 1]; ++row) {
      Bits* target = values + row * args.columns;
      for (std::int64_t column = 0; column < args.columns; ++column) {
        target[column] = rounded_bits<kType>(InputElement<kType>::value(target[column]) +
                                             InputElement<kBias>::value(row_bias[column]));
      }
    }
  }
}

template <InputType kType>
void add_any_bias(const AddBiasArgs& args) {
  if (args.bias_type == InputType::Fp16) {
    add_rows<kType, InputType::Fp16>(args);
  } else {
    add_rows<kType, InputType::Bf16>(args);
  }
}

}  // namespace

void add_bias_cpu(const AddBiasArgs& args) {
  switch (args.type) {
    case InputType::Bf16:
      return add_any_bias<InputType::Bf16>(args);
    case InputType::Fp16:
      return add_any_bias<InputType::Fp16>(args);
    case InputType::Fp32:
      return add_any_bias<InputType::Fp32>(args);
  }
}

void bias_partials_cpu(const BiasPartialsArgs& args) {
  for_each_tile(args.input, {}, [&](const HostTile& tile, TileValues& values) {
    load_tile(args.input, tile, values);
    store_bias_partials(tile, values, args.input.columns, args.partials);
  });
}

void reduce_bias_gradient_cpu(const ReduceBiasGradientArgs& args) {
  std::int64_t strip = 0;
  for (int group = 0; group < args.num_groups; ++group) {
    const std::int64_t strips =
        ceil_div(args.row_offsets[group + 1] - args.row_offsets[group], kBiasStripRows);
    for (std::int64_t column = 0; column < args.columns; ++column) {
      float sum = 0.0F;
      for (std::int64_t s = strip; s < strip + strips; ++s) {
        sum += args.partials[s * args.columns + column];
      }
      const std::int64_t index = group * args.columns + column;
      if (args.output_type == InputType::Fp32) {
        float& target = static_cast<float*>(args.gradient)[index];
        target = args.accumulate ? target + sum : sum;
        continue;
      }
      const bool bf16 = args.output_type == InputType::Bf16;
      std::uint16_t& target = static_cast<std::uint16_t*>(args.gradient)[index];
      if (args.accumulate) {
        sum = (bf16 ? InputElement<InputType::Bf16>::value(target)
                    : InputElement<InputType::Fp16>::value(target)) +
              sum;
      }
      target = bf16 ? round_to_bf16(sum) : round_to_fp16(sum);
    }
    strip += strips;
  }
}

}  // namespace kernels
