// Error of a product against plain loops in double precision.
#include <gtest/gtest.h>

#include "kernels/diagnostics/statistics.h"
#include "tests/numerics/diagnostics/operand.h"

namespace {

TEST(ProductError, AgreesWithPlainLoopsAndSkipsNonFiniteValuesOfEitherSide) {
  const tests::Operand product =
      tests::make_operand({.splits = {0, 3, 200, 0, 61}, .columns = 1040, .seed = 5});
  const tests::Operand reference = tests::make_operand(
      {.type = kernels::InputType::Fp32, .splits = {0, 3, 200, 0, 61}, .columns = 1040, .seed = 6});
  std::vector<kernels::GroupProductError> errors(5);
  kernels::product_error_cpu({.product = product.words.data(),
                              .reference = reference.floats.data(),
                              .row_offsets = product.row_offsets.data(),
                              .num_groups = product.num_groups(),
                              .capacity_rows = product.capacity_rows,
                              .columns = product.columns,
                              .errors = errors.data()});
  std::vector<kernels::GroupProductError> expected(5);
  tests::for_each_element(product, [&](int g, std::int64_t, std::int64_t, std::size_t element) {
    const double y = tests::input_value(product, element);
    const double exact = tests::input_value(reference, element);
    kernels::GroupProductError& sums = expected[static_cast<std::size_t>(g)];
    if (!std::isfinite(y) && std::isfinite(exact)) ++sums.lost;
    if (!std::isfinite(exact)) ++sums.undefined;
    if (!std::isfinite(y) || !std::isfinite(exact)) return;
    sums.reference_squares += exact * exact;
    sums.error_squares += (y - exact) * (y - exact);
    sums.max_abs_error = std::max(sums.max_abs_error, std::fabs(y - exact));
    ++sums.elements;
  });
  // Some have no finite reference either: those are not lost.
  EXPECT_GT(expected[2].lost, 0U);
  EXPECT_LT(expected[2].elements + expected[2].lost, 200U * 1040U);
  for (std::size_t g = 0; g < expected.size(); ++g) {
    SCOPED_TRACE(g);
    EXPECT_NEAR(errors[g].reference_squares, expected[g].reference_squares,
                expected[g].reference_squares * 1e-11);
    EXPECT_NEAR(errors[g].error_squares, expected[g].error_squares,
                expected[g].error_squares * 1e-11);
    EXPECT_EQ(errors[g].max_abs_error, expected[g].max_abs_error);
    EXPECT_EQ(errors[g].elements, expected[g].elements);
    EXPECT_EQ(errors[g].lost, expected[g].lost);
    EXPECT_EQ(errors[g].undefined, expected[g].undefined);
  }
}

TEST(ProductError, Accumulates) {
  const std::vector<std::uint16_t> product(16, 0x3F80);  // 1
  const std::vector<float> reference(16, 3.0F);
  const std::vector<std::int64_t> offsets = {0, 1};
  kernels::GroupProductError sums{.reference_squares = 1.0,
                                  .error_squares = 2.0,
                                  .max_abs_error = 9.0,
                                  .elements = 4,
                                  .lost = 7,
                                  .undefined = 3};
  kernels::product_error_cpu({.product = product.data(),
                              .reference = reference.data(),
                              .row_offsets = offsets.data(),
                              .num_groups = 1,
                              .capacity_rows = 1,
                              .columns = 16,
                              .errors = &sums});
  EXPECT_EQ(sums.reference_squares, 1.0 + 16 * 9.0);
  EXPECT_EQ(sums.error_squares, 2.0 + 16 * 4.0);
  EXPECT_EQ(sums.max_abs_error, 9.0);
  EXPECT_EQ(sums.elements, 20U);
  EXPECT_EQ(sums.lost, 7U);
  EXPECT_EQ(sums.undefined, 3U);
}

}  // namespace
