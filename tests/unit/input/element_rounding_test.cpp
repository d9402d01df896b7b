// BF16 and FP16 conversions on bits: every 16-bit value survives the round trip through FP32, and
// rounding goes to the nearest even neighbour.
#include "engine/input/element_rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace engine {
namespace {

TEST(ElementRounding, EveryBf16ValueSurvives) {
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = bf16_value(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bf16_value(bf16_bits(value)))) << bits;
    } else {
      EXPECT_EQ(bf16_bits(value), half);
    }
  }
}

TEST(ElementRounding, EveryFp16ValueSurvivesAndIsCorrect) {
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = fp16_value(half);
    const int exponent = static_cast<int>(bits >> 10 & 31U);
    const auto mantissa = static_cast<int>(bits & 1023U);
    if (exponent == 31 && mantissa != 0) {
      EXPECT_TRUE(std::isnan(value) && std::isnan(fp16_value(fp16_bits(value)))) << bits;
      continue;
    }
    double expected =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) expected = std::numeric_limits<double>::infinity();
    EXPECT_EQ(static_cast<double>(value), (bits & 0x8000U) != 0 ? -expected : expected) << bits;
    EXPECT_EQ(fp16_bits(value), half);
  }
}

TEST(ElementRounding, MidpointsGoToEven) {
  for (std::uint32_t bits = 0; bits < 0x7BFFU; ++bits) {
    const double low = fp16_value(static_cast<std::uint16_t>(bits));
    const double high = fp16_value(static_cast<std::uint16_t>(bits + 1));
    const auto middle = static_cast<float>((low + high) / 2.0);  // exact: one more mantissa bit
    EXPECT_EQ(fp16_bits(middle), (bits % 2 == 0 ? bits : bits + 1)) << bits;
    EXPECT_EQ(fp16_bits(std::nextafter(middle, 1e9F)), bits + 1) << bits;
    EXPECT_EQ(fp16_bits(std::nextafter(middle, 0.0F)), bits) << bits;
  }
  EXPECT_EQ(bf16_bits(std::bit_cast<float>(0x3F808000U)), 0x3F80U);
  EXPECT_EQ(bf16_bits(std::bit_cast<float>(0x3F818000U)), 0x3F82U);
  EXPECT_EQ(bf16_bits(std::bit_cast<float>(0x3F808001U)), 0x3F81U);
}

TEST(ElementRounding, LargeValuesOverflowToInfinity) {
  EXPECT_EQ(fp16_bits(65504.0F), 0x7BFFU);
  EXPECT_EQ(fp16_bits(65519.996F), 0x7BFFU);
  EXPECT_EQ(fp16_bits(65520.0F), 0x7C00U);
  EXPECT_EQ(fp16_bits(-1e30F), 0xFC00U);
  EXPECT_EQ(bf16_bits(std::numeric_limits<float>::max()), 0x7F80U);
}

}  // namespace
}  // namespace engine
