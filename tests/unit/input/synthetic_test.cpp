// Synthetic values: a pure function of their coordinates, with the moments they promise, exactly
// representable in their element type.
#include "engine/input/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "engine/input/element_rounding.h"

namespace engine {
namespace {

std::vector<float> read(const TensorSource& source, std::int64_t first, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count * source.columns()));
  source.read_f32(first, count, values);
  return values;
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> result;
  for (const float value : values) result.push_back(std::bit_cast<std::uint32_t>(value));
  return result;
}

struct Moments {
  double mean = 0.0;
  double variance = 0.0;
  double kurtosis = 0.0;
};

Moments moments(const std::vector<float>& values) {
  double sum[3] = {};
  for (const double x : values) {
    sum[0] += x;
    sum[1] += x * x;
    sum[2] += x * x * x * x;
  }
  const auto count = static_cast<double>(values.size());
  const double variance = sum[1] / count;
  return {sum[0] / count, variance, sum[2] / count / (variance * variance)};
}

TEST(NormalTable, QuantilesAgreeWithErfc) {
  for (double p = 0.5; p > 1e-10; p *= 0.83) {
    const double z = upper_tail_quantile(p);
    EXPECT_NEAR(0.5 * std::erfc(z / std::sqrt(2.0)) / p, 1.0, 5e-6) << p;
  }
}

TEST(Synthetic, DoesNotDependOnReadOrder) {
  for (const ElementType element : {ElementType::Bf16, ElementType::Fp16, ElementType::Fp32}) {
    const auto source =
        make_synthetic_source({.input = {Distribution::NonFinite, element},
                               .rows = 64,
                               .columns = 5008});  // above the parallel limit, not a whole segment
    const std::vector<std::uint32_t> whole = bits(read(*source, 0, 64));
    for (const std::int64_t row : {0, 17, 63}) {
      const std::vector<std::uint32_t> one = bits(read(*source, row, 1));
      EXPECT_TRUE(std::equal(one.begin(), one.end(), whole.begin() + row * 5008)) << row;
    }
  }
}

TEST(Synthetic, KeepsItsBitsForever) {
  // Recordings name a seed, not values: a change here makes them irreproducible.
  const auto source = make_synthetic_source(
      {.input = {Distribution::Normal, ElementType::Fp32}, .seed = 1, .rows = 4, .columns = 64});
  const auto uniform = make_synthetic_source(
      {.input = {Distribution::Uniform, ElementType::Fp32}, .seed = 1, .rows = 4, .columns = 64});
  EXPECT_THAT(bits({read(*source, 0, 1)[0], read(*source, 3, 1)[63], read(*uniform, 1, 1)[1]}),
              testing::ElementsAre(0x3ED02317U, 0x3F5D46E7U, 0x3C8C7780U));
}

TEST(Synthetic, SeedRoleLayerAndRowAllMatter) {
  const SyntheticTensor base{.rows = 2, .columns = 64};
  SyntheticTensor seed = base;
  seed.seed = 2;
  SyntheticTensor layer = base;
  layer.layer = 1;
  std::set<std::vector<float>> seen;
  for (const SyntheticTensor& tensor : {base, seed, layer}) {
    const auto source = make_synthetic_source(tensor);
    seen.insert(read(*source, 0, 1));
    seen.insert(read(*source, 1, 1));
  }
  SyntheticTensor weights = base;
  weights.role = OperandRole::Weights;
  std::vector<float> scaled = read(*make_synthetic_source(weights), 0, 1);
  for (float& value : scaled) value *= 8.0F;  // sqrt(64): undo the weights' deviation
  seen.insert(scaled);
  EXPECT_EQ(seen.size(), 7U);
}

TEST(Synthetic, HasTheMomentsItPromises) {
  const auto sample = [](Distribution distribution, OperandRole role) {
    const auto source = make_synthetic_source(
        {.input = {distribution, ElementType::Fp32}, .role = role, .rows = 1024, .columns = 1024});
    return read(*source, 0, 1024);
  };
  const Moments normal = moments(sample(Distribution::Normal, OperandRole::Activations));
  EXPECT_NEAR(normal.mean, 0.0, 0.004);
  EXPECT_NEAR(normal.variance, 1.0, 0.006);
  EXPECT_NEAR(normal.kurtosis, 3.0, 0.03);
  const Moments weights = moments(sample(Distribution::Normal, OperandRole::Weights));
  EXPECT_NEAR(weights.variance * 1024.0, 1.0, 0.006);
  const Moments uniform = moments(sample(Distribution::Uniform, OperandRole::Activations));
  EXPECT_NEAR(uniform.variance, 1.0 / 3.0, 0.003);
  EXPECT_NEAR(uniform.kurtosis, 1.8, 0.01);
}

TEST(Synthetic, TailsReachBeyondFiveSigma) {
  const auto source = make_synthetic_source({.rows = 8192, .columns = 1024});
  int beyond_four = 0;
  float largest = 0.0F;
  for (const float value : read(*source, 0, 8192)) {
    beyond_four += std::fabs(value) > 4.0F ? 1 : 0;
    largest = std::max(largest, std::fabs(value));
  }
  EXPECT_GT(largest, 5.0F);
  EXPECT_LT(largest, 6.5F);
  EXPECT_NEAR(beyond_four, 8192 * 1024 * 6.334e-5, 5.0 * 23.0);  // within 5 standard deviations
}

TEST(Synthetic, HeavyTailsAreWholeColumns) {
  const auto plain = make_synthetic_source(
      {.input = {Distribution::Normal, ElementType::Fp32}, .rows = 3, .columns = 4096});
  const auto heavy = make_synthetic_source(
      {.input = {Distribution::HeavyTailed, ElementType::Fp32}, .rows = 3, .columns = 4096});
  const std::vector<float> x = read(*plain, 0, 3);
  const std::vector<float> y = read(*heavy, 0, 3);
  int outliers = 0;
  for (std::size_t column = 0; column < 4096; ++column) {
    const bool outlier = y[column] != x[column];
    outliers += outlier ? 1 : 0;
    for (std::size_t row = 0; row < 3; ++row) {
      const std::size_t at = row * 4096 + column;
      EXPECT_EQ(y[at], outlier ? x[at] * 50.0F : x[at]);
    }
  }
  EXPECT_NEAR(outliers, 64, 32);
}

TEST(Synthetic, SprinklesNonFiniteValues) {
  const auto source = make_synthetic_source(
      {.input = {Distribution::NonFinite, ElementType::Bf16}, .rows = 1024, .columns = 1024});
  int infinities[2] = {};
  int nans = 0;
  for (const float value : read(*source, 0, 1024)) {
    if (std::isinf(value)) ++infinities[value > 0 ? 1 : 0];
    nans += std::isnan(value) ? 1 : 0;
  }
  for (const int count : {infinities[0], infinities[1], nans}) EXPECT_NEAR(count, 256, 80);
}

TEST(Synthetic, ZerosAreZero) {
  const auto source =
      make_synthetic_source({.input = {Distribution::Zeros}, .rows = 2, .columns = 16});
  EXPECT_THAT(read(*source, 0, 2), testing::Each(0.0F));
}

TEST(Synthetic, ValuesAreExactInTheirElementType) {
  const auto half = make_synthetic_source({.input = {Distribution::Normal, ElementType::Fp16},
                                           .role = OperandRole::Weights,
                                           .rows = 8,
                                           .columns = 4096});
  for (const float value : read(*half, 0, 8)) EXPECT_EQ(fp16_value(fp16_bits(value)), value);
  const auto brain = make_synthetic_source({.rows = 8, .columns = 4096});
  const std::vector<float> wide = read(*brain, 0, 8);
  std::vector<std::uint16_t> narrow(wide.size());
  brain->read_bf16(0, 8, narrow);
  for (std::size_t i = 0; i < wide.size(); ++i) EXPECT_EQ(bf16_value(narrow[i]), wide[i]);
}

}  // namespace
}  // namespace engine
