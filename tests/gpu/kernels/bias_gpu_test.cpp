// Bias gradient against its CPU twin: equal bits, except for the payload of NaN sums.
#include "kernels/bias/bias.h"

#include "tests/gpu/kernels/device_operand.h"
#include "tests/numerics/quantize/block_outputs.h"

namespace gpu_tests {
namespace {

using kernels::GroupedInput;
using kernels::InputType;
using quantize_tests::GroupedCase;
using quantize_tests::Operand;
using quantize_tests::Words;

class BiasGpu : public DeviceTest {};

bool is_nan_of(std::uint32_t bits, InputType type) {
  if (type == InputType::Fp32) return quantize_tests::is_nan(bits);
  return (bits & 0x7FFFU) > (type == InputType::Bf16 ? 0x7F80U : 0x7C00U);
}

/// Elements of a gradient as 32-bit words, whatever their width.
Words widened(const std::vector<std::uint8_t>& bytes, InputType type) {
  const std::size_t size = type == InputType::Fp32 ? 4 : 2;
  Words words(bytes.size() / size, 0);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::memcpy(&words[i], bytes.data() + i * size, size);
    if (is_nan_of(words[i], type)) words[i] = 0xFFFFFFFFU;
  }
  return words;
}

void expect_equality(const Operand& operand, bool swiglu) {
  const OperandOnDevice device(operand);
  const GroupedInput input = swiglu ? as_swiglu(operand.input) : operand.input;
  Words twin(static_cast<std::size_t>(kernels::bias_partial_capacity(
                 input.capacity_rows, input.num_groups, input.columns)),
             quantize_tests::kFloatSentinel);
  const DeviceArray<std::uint32_t> partials(twin);
  auto* device_partials = reinterpret_cast<float*>(partials.get());
  kernels::bias_partials_cpu({.input = input, .partials = quantize_tests::as_floats(twin)});
  ASSERT_EQ(kernels::bias_partials({.input = swiglu ? as_swiglu(device.input) : device.input,
                                    .partials = device_partials},
                                   nullptr),
            cudaSuccess);
  ASSERT_TRUE(quantize_tests::equal_but_for_nans(partials.values(), twin));
  for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
    for (const bool accumulate : {false, true}) {
      const auto elements = static_cast<std::size_t>(input.num_groups * input.columns);
      std::vector<std::uint8_t> gradient(elements * (type == InputType::Fp32 ? 4 : 2), 0x3F);
      const DeviceArray<std::uint8_t> device_gradient(gradient);
      kernels::ReduceBiasGradientArgs args{.partials = quantize_tests::as_floats(twin),
                                           .row_offsets = input.row_offsets,
                                           .num_groups = input.num_groups,
                                           .columns = input.columns,
                                           .output_type = type,
                                           .gradient = gradient.data(),
                                           .accumulate = accumulate};
      kernels::reduce_bias_gradient_cpu(args);
      args.partials = device_partials;
      args.row_offsets = device.input.row_offsets;
      args.gradient = device_gradient.get();
      ASSERT_EQ(kernels::reduce_bias_gradient(args, nullptr), cudaSuccess);
      ASSERT_EQ(widened(device_gradient.values(), type), widened(gradient, type));
    }
  }
}

TEST_F(BiasGpu, EqualsCpu) {
  std::vector<GroupedCase> cases = quantize_tests::grouped_cases();
  cases.push_back({.name = "Loop", .splits = {3000, 0, 3001}, .spare_rows = 9, .columns = 2064});
  for (GroupedCase grouped : cases) {
    for (const bool swiglu : {false, true}) {
      if (swiglu) grouped.columns *= 2;
      for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
        for (const auto fill : {quantize_tests::Fill::Mild, quantize_tests::Fill::Wild}) {
          SCOPED_TRACE(grouped.name + " type " + std::to_string(static_cast<int>(type)) +
                       " swiglu " + std::to_string(swiglu));
          expect_equality(Operand(grouped, type, fill), swiglu);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

/// Values are the operand's own elements, with a bias of the same kind.
void expect_equal_sums(const Operand& operand, const Operand& bias) {
  const OperandOnDevice device(operand);
  const GroupedInput& input = operand.input;
  std::vector<std::uint8_t> values(operand.bytes.begin(), operand.bytes.end());
  const DeviceArray<std::uint8_t> device_values(values);
  const DeviceArray<std::uint8_t> device_bias(
      std::vector<std::uint8_t>(bias.bytes.begin(), bias.bytes.end()));
  kernels::AddBiasArgs args{.values = values.data(),
                            .type = input.type,
                            .bias = bias.bytes.data(),
                            .bias_type = bias.input.type,
                            .row_offsets = input.row_offsets,
                            .num_groups = input.num_groups,
                            .capacity_rows = input.capacity_rows,
                            .columns = input.columns};
  kernels::add_bias_cpu(args);
  args.values = device_values.get();
  args.bias = device_bias.get();
  args.row_offsets = device.input.row_offsets;
  ASSERT_EQ(kernels::add_bias(args, nullptr), cudaSuccess);
  ASSERT_EQ(widened(device_values.values(), input.type), widened(values, input.type));
}

TEST_F(BiasGpu, SumsEqualTheTwin) {
  for (const GroupedCase& grouped : quantize_tests::grouped_cases()) {
    const GroupedCase biases{.name = "",
                             .splits = {static_cast<std::int64_t>(grouped.splits.size())},
                             .columns = grouped.columns};
    for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
      for (const InputType bias_type : {InputType::Bf16, InputType::Fp16}) {
        for (const auto fill : {quantize_tests::Fill::Mild, quantize_tests::Fill::Wild}) {
          SCOPED_TRACE(grouped.name + " type " + std::to_string(static_cast<int>(type)) + " bias " +
                       std::to_string(static_cast<int>(bias_type)));
          expect_equal_sums(Operand(grouped, type, fill), Operand(biases, bias_type, fill));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpu_tests
