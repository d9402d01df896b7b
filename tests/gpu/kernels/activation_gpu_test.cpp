// Activations and their gradients against their CPU twins, bit for bit.
#include "kernels/activation/activate.h"

#include "tests/gpu/kernels/twin_comparison.h"

namespace gpu_tests {
namespace {

using kernels::InputType;
using quantize_tests::Fill;
using quantize_tests::GroupedCase;

class ActivationGpu : public DeviceTest {};

void expect_equality(const GroupedCase& grouped, InputType type, Fill fill,
                     const Applied& applied) {
  SCOPED_TRACE(grouped.name + " type " + std::to_string(static_cast<int>(type)) + applied.name());
  TwinArrays arrays;
  const TwinOperand operand(arrays, grouped, type, fill, applied, false);
  const int output = arrays.output(4 * operand.out_capacity() * operand.columns());
  const auto args = [&](bool device) {
    return kernels::ActivateArgs{operand.input(device), arrays.at<void*>(output, device)};
  };
  kernels::activate_cpu(args(false));
  ASSERT_EQ(kernels::activate(args(true), nullptr), cudaSuccess);
  arrays.expect_equal();
}

TEST_F(ActivationGpu, EqualsCpu) {
  std::vector<GroupedCase> cases = quantize_tests::grouped_cases();
  cases.push_back({.name = "Loop", .splits = {3000, 0, 3001}, .spare_rows = 9, .columns = 2064});
  for (const GroupedCase& grouped : cases) {
    for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
      for (const Applied& applied : all_activations()) {
        // In the long case, which shows that the grid loops, SwiGLU is enough.
        const bool swiglu = applied.activation.is_swiglu();
        if (grouped.name == "Loop" && !swiglu) continue;
        expect_equality(grouped, type, swiglu ? Fill::Mild : Fill::Wild, applied);
        if (swiglu) expect_equality(grouped, type, Fill::Wild, applied);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(ActivationGpu, EverySixteenBitGateEqualsCpu) {
  for (const InputType type : {InputType::Bf16, InputType::Fp16}) {
    for (const Applied& applied : all_activations()) {
      SCOPED_TRACE("type " + std::to_string(static_cast<int>(type)) + applied.name());
      const std::size_t parts = applied.activation.gated ? 2 : 1;
      // Gates of every bit pattern; up and the gradient of y are ordinary values.
      std::vector<std::uint16_t> values(65536 * parts);
      std::vector<std::uint16_t> gradient(65536);
      const auto value = static_cast<std::uint16_t>(type == InputType::Bf16 ? 0x3FC0 : 0x3E00);
      for (std::size_t i = 0; i < 65536; ++i) {
        const std::size_t row = i / 256;
        values[row * 256 * parts + i % 256] = static_cast<std::uint16_t>(i);
        gradient[i] = static_cast<std::uint16_t>(value + i % 7);
        if (parts == 2)
          values[row * 512 + 256 + i % 256] = static_cast<std::uint16_t>(value ^ i % 5);
      }
      TwinArrays arrays;
      const int input = arrays.input(values);
      const int dy = arrays.input(gradient);
      const int offsets = arrays.input(std::vector<std::int64_t>{0, 256});
      const int output = arrays.output(2 * 65536 * 2);
      const auto args = [&](bool device) {
        kernels::GroupedInput operand{.input = arrays.at<void*>(input, device),
                                      .type = type,
                                      .row_offsets = arrays.at<std::int64_t>(offsets, device),
                                      .num_groups = 1,
                                      .capacity_rows = 256,
                                      .columns = applied.gradient && parts == 2 ? 512 : 256,
                                      .activation = applied.activation};
        if (applied.gradient) operand.output_gradient = arrays.at<void*>(dy, device);
        return kernels::ActivateArgs{operand, arrays.at<void*>(output, device)};
      };
      kernels::activate_cpu(args(false));
      ASSERT_EQ(kernels::activate(args(true), nullptr), cudaSuccess);
      arrays.expect_equal();
      if (HasFailure()) return;
    }
  }
}

TEST_F(ActivationGpu, RefusesWhatHasNoMeaning) {
  const DeviceArray<std::uint8_t> bytes(std::vector<std::uint8_t>(4096));
  const DeviceArray<std::int64_t> offsets({0, 1});
  kernels::GroupedInput input{.input = bytes.get(),
                              .row_offsets = offsets.get(),
                              .num_groups = 1,
                              .capacity_rows = 1,
                              .columns = 48,
                              .activation = kernels::kSwiglu,
                              .output_gradient = bytes.get()};
  const auto result = [&] { return kernels::activate({input, bytes.get()}, nullptr); };
  EXPECT_EQ(result(), cudaErrorInvalidValue) << "half of 48 columns is no multiple of 16";
  input.columns = 64;
  EXPECT_EQ(result(), cudaSuccess);
  input.output_gradient = bytes.get() + 8;
  EXPECT_EQ(result(), cudaErrorMisalignedAddress);
  input.output_gradient = bytes.get();
  using kernels::ActivationFunction;
  const kernels::Activation unsupported[] = {
      {.function = ActivationFunction::Gelu, .gated = true, .limit = 7.0F},
      {.function = ActivationFunction::Relu, .gated = true, .up_offset = 1.0F},
      {.function = ActivationFunction::Silu, .limit = 7.0F},
      {.function = ActivationFunction::Silu, .gated = true, .slope = -1.0F},
      {.function = ActivationFunction::Gelu, .slope = 2.0F},
      {.function = ActivationFunction::Silu, .gated = true, .limit = -7.0F}};
  for (const kernels::Activation& activation : unsupported) {
    input.activation = activation;
    EXPECT_EQ(result(), cudaErrorInvalidValue);
  }
  input.activation = {.gated = true};
  input.output_gradient = nullptr;
  EXPECT_EQ(result(), cudaErrorInvalidValue) << "gated by nothing";
  input.activation = {};
  EXPECT_EQ(result(), cudaErrorInvalidValue) << "nothing to apply";
  input.output_gradient = bytes.get();
  EXPECT_EQ(result(), cudaErrorInvalidValue) << "a gradient of nothing";
}

}  // namespace
}  // namespace gpu_tests
