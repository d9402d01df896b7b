// Golden codes of the three formats, from their definitions.
#include "app/gui/panels/code_bits.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

constexpr app::CodeFormat kE4m3{};
constexpr app::CodeFormat kE5m2{.name = "E5M2", .exponent_bits = 5, .mantissa_bits = 2};
constexpr app::CodeFormat kE2m1{.name = "E2M1", .exponent_bits = 2, .mantissa_bits = 1};

TEST(CodeBitsTest, E4m3) {
  EXPECT_EQ(app::code_value(kE4m3, 0x00), 0.0);
  EXPECT_EQ(app::code_value(kE4m3, 0x01), std::ldexp(1.0, -9));
  EXPECT_EQ(app::code_value(kE4m3, 0x08), std::ldexp(1.0, -6));
  EXPECT_EQ(app::code_value(kE4m3, 0x38), 1.0);
  EXPECT_EQ(app::code_value(kE4m3, 0x7E), 448.0);
  EXPECT_EQ(app::code_value(kE4m3, 0xFE), -448.0);
  EXPECT_TRUE(std::isnan(app::code_value(kE4m3, 0x7F)));
  EXPECT_TRUE(std::isnan(app::code_value(kE4m3, 0xFF)));
  EXPECT_TRUE(std::signbit(app::code_value(kE4m3, 0x80)));
}

TEST(CodeBitsTest, E5m2) {
  EXPECT_EQ(app::code_value(kE5m2, 0x01), std::ldexp(1.0, -16));
  EXPECT_EQ(app::code_value(kE5m2, 0x3C), 1.0);
  EXPECT_EQ(app::code_value(kE5m2, 0x7B), 57344.0);
  EXPECT_EQ(app::code_value(kE5m2, 0x7C), INFINITY);
  EXPECT_EQ(app::code_value(kE5m2, 0xFC), -INFINITY);
  EXPECT_TRUE(std::isnan(app::code_value(kE5m2, 0x7D)));
}

TEST(CodeBitsTest, E2m1HasEightMagnitudes) {
  const double magnitudes[] = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};
  for (int code = 0; code < 8; ++code) {
    EXPECT_EQ(app::code_value(kE2m1, static_cast<std::uint8_t>(code)), magnitudes[code]);
    EXPECT_EQ(app::code_value(kE2m1, static_cast<std::uint8_t>(code | 8)), -magnitudes[code]);
  }
}

TEST(CodeBitsTest, Texts) {
  EXPECT_EQ(app::code_hex(kE4m3, 0x3D), "0x3D");
  EXPECT_EQ(app::code_bits(kE4m3, 0x3D), "0 0111 101");
  EXPECT_EQ(app::code_reading(kE4m3, 0x3D), "+1.625 x 2^0");
  EXPECT_EQ(app::code_reading(kE4m3, 0x83), "-0.375 x 2^-6 (subnormal)");
  EXPECT_EQ(app::code_reading(kE4m3, 0x7F), "NaN");
  EXPECT_EQ(app::code_reading(kE5m2, 0xFC), "-infinity");
  EXPECT_EQ(app::code_hex(kE2m1, 0xB), "0xB");
  EXPECT_EQ(app::code_bits(kE2m1, 0xB), "1 01 1");
  EXPECT_EQ(app::code_reading(kE2m1, 0x8), "-0");
}

TEST(CodeBitsTest, FormatFollowsRecipeAndOperand) {
  engine::Recipe recipe{.activation_format = engine::Fp8Format::E5m2};
  EXPECT_STREQ(app::code_format(recipe, engine::OperandRole::Activations).name, "E5M2");
  EXPECT_STREQ(app::code_format(recipe, engine::OperandRole::Weights).name, "E4M3");
  recipe.gradient_format = engine::Fp8Format::E4m3;
  EXPECT_STREQ(app::code_format(recipe, engine::OperandRole::Gradients).name, "E4M3");
  recipe.gradient_format = engine::Fp8Format::E5m2;
  EXPECT_STREQ(app::code_format(recipe, engine::OperandRole::Gradients).name, "E5M2");
  recipe.scaling = engine::Scaling::Nvfp4;
  EXPECT_STREQ(app::code_format(recipe, engine::OperandRole::Weights).name, "E2M1");
  EXPECT_TRUE(app::transformed_codes(recipe, engine::OperandRole::Activations, true));
  EXPECT_TRUE(app::transformed_codes(recipe, engine::OperandRole::Gradients, true));
  EXPECT_FALSE(app::transformed_codes(recipe, engine::OperandRole::Activations, false));
  EXPECT_FALSE(app::transformed_codes(recipe, engine::OperandRole::Weights, true));
}

}  // namespace
