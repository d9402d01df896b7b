// CPU twin of the bias addition.
#include "kernels/bias/add_bias.h"

#include <bit>

#include "kernels/common/activate_run.h"
#include "kernels/common/input_elements.h"

namespace kernels {
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

}  // namespace kernels
