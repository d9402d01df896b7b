// Activations on the host: the exponential and SiLU against double, and a whole operand of SwiGLU
// against its definition. The others are compared with numpy (oracle/test_activation.py).
#include "kernels/activation/activate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "kernels/common/activation_math.h"
#include "kernels/common/element_run.h"
#include "tests/numerics/quantize/plain_reference.h"

namespace quantize_tests {
namespace {

using kernels::InputType;

float silu(float x) { return x * kernels::sigmoid(x); }

/// Distance in units of the last place that an FP32 near `exact` has.
double ulps(float value, double exact) {
  const float nearest = static_cast<float>(exact);
  if (value == nearest) return 0.0;
  int exponent = 0;
  (void)std::frexp(exact, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(static_cast<double>(value) - exact) / unit;
}

TEST(PortableExp, StaysWithinThreeUlp) {
  double worst = 0.0;
  for (int i = -10390; i <= 8870; ++i) {
    for (const float offset : {0.0F, 0.0013F, 0.0057F}) {
      const float t = static_cast<float>(i) * 0.01F + offset;
      const double exact = std::exp(static_cast<double>(t));
      if (exact > 3.4e38) continue;
      worst = std::max(worst, ulps(kernels::portable_exp(t), exact));
    }
  }
  EXPECT_LE(worst, 3.0);
}

TEST(PortableExp, Ends) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(kernels::portable_exp(-inf), 0.0F);
  EXPECT_EQ(kernels::portable_exp(-105.0F), 0.0F);
  EXPECT_EQ(kernels::portable_exp(0.0F), 1.0F);
  EXPECT_EQ(kernels::portable_exp(-0.0F), 1.0F);
  EXPECT_EQ(kernels::portable_exp(90.0F), inf);
  EXPECT_EQ(kernels::portable_exp(inf), inf);
  EXPECT_TRUE(std::isnan(kernels::portable_exp(std::numeric_limits<float>::quiet_NaN())));
}

/// Every value of a 16-bit type; the bound is on normal results, subnormals round once more.
void expect_silu_of_every_value(InputType type) {
  double worst = 0.0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float x = decode_bits(bits, element_format(type));
    const float value = silu(x);
    // The quotient of -inf and inf is NaN, as in the definition.
    if (std::isnan(x) || x == -std::numeric_limits<float>::infinity()) {
      ASSERT_TRUE(std::isnan(value)) << x;
      continue;
    }
    if (std::isinf(x)) {
      ASSERT_EQ(value, x);
      continue;
    }
    const double wide = static_cast<double>(x);
    const double exact = wide / (1.0 + std::exp(-wide));
    // Where exp(-x) leaves FP32 the quotient is zero.
    if (x < -88.0F) {
      ASSERT_LE(std::fabs(static_cast<double>(value)), 1e-35) << x;
      continue;
    }
    worst = std::max(worst, ulps(value, exact));
    ASSERT_EQ(std::signbit(value), std::signbit(x)) << x;
  }
  EXPECT_LE(worst, 4.0);
}

TEST(Silu, EveryBf16Value) { expect_silu_of_every_value(InputType::Bf16); }
TEST(Silu, EveryFp16Value) { expect_silu_of_every_value(InputType::Fp16); }

std::uint32_t element_at(const std::vector<std::uint8_t>& bytes, std::size_t index,
                         std::size_t size) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * size, size);
  return bits;
}

std::uint32_t rounded_bits(float value, InputType type) {
  if (type == InputType::Bf16) return kernels::round_to_bf16(value);
  if (type == InputType::Fp16) return kernels::round_to_fp16(value);
  return std::isnan(value) ? 0x7FFFFFFFU : std::bit_cast<std::uint32_t>(value);
}

TEST(Swiglu, EqualsItsDefinition) {
  for (GroupedCase grouped : grouped_cases()) {
    const std::int64_t columns = grouped.columns;
    grouped.columns *= 2;
    for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
      SCOPED_TRACE(grouped.name);
      const Operand operand(grouped, type, Fill::Wild);
      const std::size_t size = element_format(type).bytes();
      const auto elements = static_cast<std::size_t>(operand.input.capacity_rows * columns);
      std::vector<std::uint8_t> output(elements * size, kCodeSentinel);
      kernels::GroupedInput input = operand.input;
      input.columns = columns;
      input.activation = kernels::kSwiglu;
      kernels::activate_cpu({.input = input, .output = output.data()});
      const std::int64_t rows = operand.row_offsets.back();
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column) {
          const float gate = element(operand.input, row, column);
          const float up = element(operand.input, row, columns + column);
          const auto index = static_cast<std::size_t>(row * columns + column);
          ASSERT_EQ(element_at(output, index, size), rounded_bits(silu(gate) * up, type))
              << gate << " and " << up;
        }
      }
      for (auto i = static_cast<std::size_t>(rows * columns) * size; i < output.size(); ++i) {
        ASSERT_EQ(output[i], kCodeSentinel);
      }
    }
  }
}

}  // namespace
}  // namespace quantize_tests
