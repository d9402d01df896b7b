// The alpha of a native NVFP4 product: alpha times the product of codes and block scales is the
// product of the operands that dequantize() gives.
#include "kernels/amax/nvfp4_alpha.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/dequantize/dequantize.h"
#include "kernels/quantize/quantize_nvfp4.h"

namespace quantize_tests {
namespace {

constexpr std::int64_t kColumns = 64;
// The amax whose global scale is 1: decoding with it leaves codes times block scales.
constexpr float kUnitAmax = 448.0F * 6.0F;

/// `rows` rows per group, [groups * rows, kColumns], each group with a different magnitude.
struct ScaledGroups {
  std::vector<float> values;
  std::vector<std::int64_t> row_offsets;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  std::vector<float> amax;
  std::int64_t rows;

  ScaledGroups(int groups, std::int64_t rows_each, std::uint32_t seed) : rows(rows_each) {
    std::mt19937 bits(seed);
    std::normal_distribution<float> normal;
    for (int group = 0; group <= groups; ++group) row_offsets.push_back(group * rows);
    for (int group = 0; group < groups; ++group) {
      const float magnitude = std::ldexp(1.0F + 0.3F * static_cast<float>(group), group * 3 - 6);
      for (std::int64_t i = 0; i < rows * kColumns; ++i) values.push_back(magnitude * normal(bits));
    }
    codes.resize(values.size() / 2);
    scales.resize(static_cast<std::size_t>(
        kernels::micro_rowwise_scale_capacity(groups * rows, groups, kColumns, kernels::kNvBlock)));
    amax.resize(static_cast<std::size_t>(groups));
    const kernels::GroupedInput input{.input = values.data(),
                                      .type = kernels::InputType::Fp32,
                                      .row_offsets = row_offsets.data(),
                                      .num_groups = groups,
                                      .capacity_rows = groups * rows,
                                      .columns = kColumns};
    kernels::nvfp4_amax_cpu({.input = input, .rowwise_amax = amax.data()});
    kernels::quantize_nvfp4_cpu(
        {.input = input,
         .rowwise = {.codes = codes.data(), .scales = scales.data(), .amax = amax.data()}});
  }

  std::vector<float> decoded(const std::vector<float>& with_amax) const {
    std::vector<float> out(values.size());
    kernels::dequantize_cpu({.quantized = {.codes = codes.data(),
                                           .layout = kernels::ScaleLayout::Nv1x16,
                                           .scales = scales.data(),
                                           .amax = with_amax.data(),
                                           .row_offsets = row_offsets.data(),
                                           .num_groups = static_cast<int>(amax.size()),
                                           .capacity_rows = row_offsets.back(),
                                           .columns = kColumns},
                             .output = out.data(),
                             .output_type = kernels::InputType::Fp32});
    return out;
  }
};

double dot(const std::vector<float>& a, const std::vector<float>& b, std::int64_t row_a,
           std::int64_t row_b) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < kColumns; ++i) {
    sum += double{a[static_cast<std::size_t>(row_a * kColumns + i)]} *
           double{b[static_cast<std::size_t>(row_b * kColumns + i)]};
  }
  return sum;
}

TEST(Nvfp4Alpha, TurnsTheProductOfCodesIntoTheProductOfOperands) {
  constexpr int kGroups = 5;
  const ScaledGroups a(kGroups, 6, 1);
  const ScaledGroups b(kGroups, 3, 2);
  std::vector<float> alpha(kGroups);
  kernels::nvfp4_alpha_cpu({.amax_a = {.values = a.amax.data()},
                            .amax_b = {.values = b.amax.data()},
                            .num_groups = kGroups,
                            .alpha = alpha.data()});
  const std::vector<float> unit(kGroups, kUnitAmax);
  const std::vector<float> codes_a = a.decoded(unit);
  const std::vector<float> codes_b = b.decoded(unit);
  const std::vector<float> values_a = a.decoded(a.amax);
  const std::vector<float> values_b = b.decoded(b.amax);
  for (int group = 0; group < kGroups; ++group) {
    EXPECT_NE(alpha[static_cast<std::size_t>(group)], 1.0F);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      for (std::int64_t j = 0; j < b.rows; ++j) {
        const std::int64_t row_a = group * a.rows + i;
        const std::int64_t row_b = group * b.rows + j;
        const double wanted = dot(values_a, values_b, row_a, row_b);
        const double got =
            double{alpha[static_cast<std::size_t>(group)]} * dot(codes_a, codes_b, row_a, row_b);
        EXPECT_NEAR(got, wanted, 1e-5 * std::abs(wanted) + 1e-12) << "expert " << group;
      }
    }
  }
}

TEST(Nvfp4Alpha, ReadsAListOfTensorsAndIsOneForAmaxThatScaleNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinite = std::numeric_limits<float>::infinity();
  const std::vector<float> a = {0.0F, nan, infinite, 2.0F * kUnitAmax};
  const std::vector<float> b = {kUnitAmax, kUnitAmax, 0.0F, kUnitAmax / 4.0F};
  const std::vector<const float*> each = {&a[0], &a[1], &a[2], &a[3]};
  std::vector<float> alpha(4, -1.0F);
  kernels::nvfp4_alpha_cpu({.amax_a = {.each = each.data()},
                            .amax_b = {.values = b.data()},
                            .num_groups = 4,
                            .alpha = alpha.data()});
  EXPECT_EQ(alpha, (std::vector<float>{1.0F, 1.0F, 1.0F, 0.5F}));
}

}  // namespace
}  // namespace quantize_tests
