// SwiGLU against its CPU twin, bit for bit.
#include "kernels/activation/swiglu.h"

#include "tests/gpu/kernels/device_operand.h"

namespace gpu_tests {
namespace {

using kernels::InputType;
using quantize_tests::GroupedCase;
using quantize_tests::Operand;

class SwigluGpu : public DeviceTest {};

void expect_equality(const Operand& operand) {
  const OperandOnDevice device(operand);
  std::vector<std::uint8_t> twin(operand.bytes.size() / 2, quantize_tests::kCodeSentinel);
  const DeviceArray<std::uint8_t> output(twin);
  kernels::swiglu_cpu({.input = as_swiglu(operand.input), .output = twin.data()});
  ASSERT_EQ(kernels::swiglu({.input = as_swiglu(device.input), .output = output.get()}, nullptr),
            cudaSuccess);
  ASSERT_EQ(output.values(), twin);
}

TEST_F(SwigluGpu, EqualsCpu) {
  std::vector<GroupedCase> cases = quantize_tests::grouped_cases();
  cases.push_back({.name = "Loop", .splits = {3000, 0, 3001}, .spare_rows = 9, .columns = 2064});
  for (GroupedCase& grouped : cases) {
    grouped.columns *= 2;
    for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
      for (const auto fill : {quantize_tests::Fill::Mild, quantize_tests::Fill::Wild}) {
        SCOPED_TRACE(grouped.name + " type " + std::to_string(static_cast<int>(type)));
        expect_equality(Operand(grouped, type, fill));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(SwigluGpu, EverySixteenBitGateEqualsCpu) {
  for (const InputType type : {InputType::Bf16, InputType::Fp16}) {
    Operand operand({.name = "", .splits = {256}, .columns = 512}, type,
                    quantize_tests::Fill::Mild);
    for (std::size_t row = 0; row < 256; ++row) {
      for (std::size_t column = 0; column < 256; ++column) {
        const auto gate = static_cast<std::uint16_t>(row * 256 + column);
        std::memcpy(operand.bytes.data() + (row * 512 + column) * 2, &gate, 2);
      }
    }
    expect_equality(operand);
    const std::uint16_t one = type == InputType::Bf16 ? 0x3F80 : 0x3C00;
    for (std::size_t row = 0; row < 256; ++row) {
      for (std::size_t column = 256; column < 512; ++column) {
        std::memcpy(operand.bytes.data() + (row * 512 + column) * 2, &one, 2);
      }
    }
    expect_equality(operand);
  }
}

}  // namespace
}  // namespace gpu_tests
