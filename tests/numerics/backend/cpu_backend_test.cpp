// The CPU backend end to end against the naive step: every recipe, scale rule, element type and
// routing that changes which code runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "engine/backend/backend.h"
#include "engine/input/element_rounding.h"
#include "engine/input/routing.h"
#include "engine/input/tensor_source.h"
#include "tests/numerics/backend/naive_step.h"

namespace engine {
namespace {

Result<RunResult> run(Backend& backend, const RunRequest& request) {
  RunProgress progress;
  StepObserver observer;
  return backend.run(request, {progress, observer});
}

naive::Matrix rows_of(const TensorSource& source, std::int64_t first, std::int64_t count) {
  naive::Matrix matrix{.rows = count, .columns = source.columns()};
  matrix.values.resize(static_cast<std::size_t>(count * source.columns()));
  source.read_f32(first, count, matrix.values);
  return matrix;
}

float element_max(ElementType element) {
  if (element == ElementType::Bf16) return 0x1.FEp127F;
  return element == ElementType::Fp16 ? 65504.0F : std::numeric_limits<float>::max();
}

struct NaiveOperand {
  naive::Dequantized quantized;
  naive::Matrix original;
};

NaiveOperand naive_operand(const RunRequest& request, OperandRole role, std::int64_t first,
                           std::int64_t count) {
  const bool x = role == OperandRole::Activations;
  const auto source = open_source(request, role, 0);
  NaiveOperand operand{.quantized = {}, .original = rows_of(*source.value(), first, count)};
  const Recipe& recipe = request.recipe;
  if (recipe.scaling == Scaling::None) {
    operand.quantized.values = operand.original;
    for (float& value : operand.quantized.values.values) value = bf16_value(bf16_bits(value));
    return operand;
  }
  const RecipeTraits& traits = traits_of(recipe.scaling);
  const bool block = traits.block > 0;
  const naive::BlockShape whole{std::max<std::int64_t>(count, 1), request.shape.k};
  const naive::BlockShape tile{!x && traits.square_weights ? traits.block : 1, traits.block};
  operand.quantized = naive::quantize(
      operand.original, x ? recipe.activation_format : Fp8Format::E4m3, block ? tile : whole,
      recipe, block ? element_max(source.value()->element()) : std::numeric_limits<float>::max());
  return operand;
}

struct Expected {
  double snr_db = 0.0;
  double max_abs_error = 0.0;
  double reference_rms = 0.0;
  std::uint64_t lost = 0;
  double signal = 0.0;
  double noise = 0.0;
};

/// Both products in double, the quantized one rounded to BF16 as the backend's output is.
Expected expected_accuracy(const NaiveOperand& x, const NaiveOperand& w) {
  const std::vector<double> reference = naive::product(x.original, w.original);
  const std::vector<double> product = naive::product(x.quantized.values, w.quantized.values);
  Expected expected;
  double signal = 0.0;
  double noise = 0.0;
  double elements = 0.0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double y = bf16_value(bf16_bits(static_cast<float>(product[i])));
    if (std::isfinite(reference[i]) && !std::isfinite(y)) ++expected.lost;
    if (!std::isfinite(reference[i]) || !std::isfinite(y)) continue;
    signal += reference[i] * reference[i];
    noise += (reference[i] - y) * (reference[i] - y);
    expected.max_abs_error = std::max(expected.max_abs_error, std::fabs(reference[i] - y));
    elements += 1.0;
  }
  if (elements == 0.0) {
    constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
    return {kNothing, kNothing, kNothing, expected.lost};
  }
  expected.signal = signal;
  expected.noise = noise;
  expected.snr_db =
      noise == 0.0 ? std::numeric_limits<double>::infinity() : 10.0 * std::log10(signal / noise);
  expected.reference_rms = std::sqrt(signal / elements);
  return expected;
}

void expect_close(double actual, double expected, double tolerance, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << what << " is " << actual;
  } else if (std::isinf(expected)) {
    EXPECT_EQ(actual, expected) << what;
  } else {
    EXPECT_NEAR(actual, expected, tolerance) << what;
  }
}

void compare_with_naive(const RunRequest& request) {
  ASSERT_TRUE(validate(request).ok());
  const auto backend = make_cpu_backend();
  const Result<RunResult> run_result = run(*backend, request);
  ASSERT_TRUE(run_result.ok()) << run_result.error().message;
  const RunResult& result = run_result.value();
  const GroupedShape shape = resolve_shape(request).value();
  ASSERT_EQ(result.splits, shape.splits);
  ASSERT_EQ(result.experts.size(), shape.splits.size());

  std::int64_t first = 0;
  naive::Dequantized x_total;
  naive::Dequantized w_total;
  double signal = 0.0;
  double noise = 0.0;
  std::uint64_t lost = 0;
  for (std::size_t e = 0; e < shape.splits.size(); ++e) {
    const std::int64_t rows = shape.splits[e];
    const NaiveOperand x = naive_operand(request, OperandRole::Activations, first, rows);
    const NaiveOperand w = naive_operand(request, OperandRole::Weights,
                                         static_cast<std::int64_t>(e) * shape.n, shape.n);
    first += rows;
    const Expected expected = expected_accuracy(x, w);
    const ExpertResult& actual = result.experts[e];
    const std::string name = "expert " + std::to_string(e);
    EXPECT_EQ(actual.rows, rows);
    // FP32 sums in another order differ far below the quantization error.
    expect_close(actual.fprop.snr_db, expected.snr_db, 0.05, name + " SNR");
    expect_close(actual.fprop.reference_rms, expected.reference_rms, 1e-4 * expected.reference_rms,
                 name + " RMS");
    expect_close(actual.fprop.max_abs_error, expected.max_abs_error,
                 0.02 * expected.max_abs_error + 1e-3 * expected.reference_rms,
                 name + " max error");
    EXPECT_EQ(actual.fprop.lost, expected.lost) << name;
    signal += expected.signal;
    noise += expected.noise;
    lost += expected.lost;
    if (request.recipe.scaling != Scaling::None) {
      EXPECT_EQ(actual.saturated, x.quantized.saturated) << name;
      EXPECT_EQ(actual.underflowed, x.quantized.underflowed) << name;
    }
    for (const auto& [total, part] :
         {std::pair{&x_total, &x.quantized}, std::pair{&w_total, &w.quantized}}) {
      total->saturated += part->saturated;
      total->underflowed += part->underflowed;
      total->signal += part->signal;
      total->noise += part->noise;
    }
  }
  const TensorResult* const y = find_tensor(result, StepTensor::Y);
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->error.lost, lost);
  if (signal > 0.0 && noise > 0.0) {
    EXPECT_NEAR(y->error.snr_db, 10.0 * std::log10(signal / noise), 0.05) << "of all experts";
  }
  if (request.recipe.scaling == Scaling::None) return;
  for (const auto& [actual, total] :
       {std::pair{statistics_of(result, StepTensor::X), &x_total},
        std::pair{statistics_of(result, StepTensor::WUp), &w_total}}) {
    EXPECT_EQ(actual->saturated, total->saturated);
    EXPECT_EQ(actual->underflowed, total->underflowed);
    if (total->noise > 0.0) {
      EXPECT_NEAR(actual->snr_db, 10.0 * std::log10(total->signal / total->noise), 1e-6);
    } else if (actual->elements == 0) {
      EXPECT_TRUE(std::isnan(actual->snr_db)) << "there is nothing that could be exact";
    } else {
      EXPECT_EQ(actual->snr_db, std::numeric_limits<double>::infinity());
    }
  }
}

/// 3 experts with uneven rows, a partial last block along k (208) and along n (144).
RunRequest small_request() {
  RunRequest request;
  request.shape = {.preset = "", .num_experts = 3, .rows = 45, .n = 144, .k = 208};
  request.routing.distribution = RoutingDistribution::Zipf;
  request.launch.iterations = 1;
  return request;
}

struct RecipeCase {
  Scaling scaling;
  Fp8Format format;
  bool pow2;
  float epsilon;
};

class CpuBackendRecipe
    : public testing::TestWithParam<std::tuple<RecipeCase, Distribution, ElementType>> {};

TEST_P(CpuBackendRecipe, AgreesWithTheNaiveStep) {
  const auto& [recipe, distribution, element] = GetParam();
  RunRequest request = small_request();
  request.recipe.scaling = recipe.scaling;
  request.recipe.activation_format = recipe.format;
  request.recipe.pow2_scales = recipe.pow2;
  request.recipe.amax_epsilon = recipe.epsilon;
  request.activations = SyntheticInput{distribution, element};
  request.weights = SyntheticInput{Distribution::Normal, element};
  compare_with_naive(request);
}

constexpr Fp8Format kE4m3 = Fp8Format::E4m3;
constexpr Fp8Format kE5m2 = Fp8Format::E5m2;

INSTANTIATE_TEST_SUITE_P(
    Recipes, CpuBackendRecipe,
    testing::Combine(testing::Values(RecipeCase{Scaling::None, kE4m3, false, 0.0F},
                                     RecipeCase{Scaling::PerTensorCurrent, kE4m3, false, 0.0F},
                                     RecipeCase{Scaling::PerTensorCurrent, kE5m2, true, 0.0F},
                                     RecipeCase{Scaling::PerTensorCurrent, kE4m3, false, 64.0F},
                                     RecipeCase{Scaling::Block, kE4m3, true, 0.0F},
                                     RecipeCase{Scaling::Block, kE4m3, false, 0.0F},
                                     RecipeCase{Scaling::Block, kE5m2, false, 0.0F},
                                     RecipeCase{Scaling::Block, kE4m3, true, 500.0F}),
                     testing::Values(Distribution::Normal, Distribution::HeavyTailed,
                                     Distribution::NonFinite),
                     testing::Values(ElementType::Bf16, ElementType::Fp16, ElementType::Fp32)));

class CpuBackendRouting : public testing::TestWithParam<RoutingDistribution> {};

TEST_P(CpuBackendRouting, AgreesWithTheNaiveStep) {
  RunRequest request = small_request();
  request.shape.num_experts = 5;
  request.shape.rows = 131;
  request.routing.distribution = GetParam();
  compare_with_naive(request);
  request.recipe.scaling = Scaling::PerTensorCurrent;
  compare_with_naive(request);
}

INSTANTIATE_TEST_SUITE_P(Routings, CpuBackendRouting,
                         testing::Values(RoutingDistribution::Uniform, RoutingDistribution::OneHot,
                                         RoutingDistribution::HalfEmpty,
                                         RoutingDistribution::Heavy));

TEST(CpuBackend, ErrorsOfOutputsAreThoseOfAllExperts) {
  RunRequest request = small_request();
  request.products.passes = StepPasses::ForwardBackward;
  const auto backend = make_cpu_backend();
  const Result<RunResult> measured = run(*backend, request);
  ASSERT_TRUE(measured.ok()) << measured.error().message;
  const RunResult& result = measured.value();
  const auto n = static_cast<double>(request.shape.n);
  const auto k = static_cast<double>(request.shape.k);
  for (const auto& [tensor, product] :
       {std::pair{StepTensor::Y, Product::Fprop}, std::pair{StepTensor::DX, Product::Dgrad},
        std::pair{StepTensor::DWUp, Product::Wgrad}}) {
    double signal = 0.0;
    double noise = 0.0;
    double largest = 0.0;
    for (const ExpertResult& expert : result.experts) {
      if (expert.rows == 0) continue;
      const ProductAccuracy& error = expert.of(product);
      ASSERT_EQ(error.left_out(), 0);
      const auto rows = static_cast<double>(expert.rows);
      const double elements = product == Product::Fprop   ? rows * n
                              : product == Product::Dgrad ? rows * k
                                                          : n * k;
      const double squares = error.reference_rms * error.reference_rms * elements;
      signal += squares;
      noise += squares / std::pow(10.0, 0.1 * error.snr_db);
      largest = std::max(largest, error.max_abs_error);
    }
    const ProductAccuracy& all = find_tensor(result, tensor)->error;
    EXPECT_NEAR(all.snr_db, 10.0 * std::log10(signal / noise), 1e-6) << name_of(tensor);
    EXPECT_EQ(all.max_abs_error, largest) << name_of(tensor);
    EXPECT_GT(all.reference_rms, 0.0) << name_of(tensor);
  }
  EXPECT_TRUE(std::isnan(find_tensor(result, StepTensor::X)->error.snr_db)) << "is no output";
}

TEST(CpuBackend, NoTokens) {
  RunRequest request = small_request();
  request.shape.rows = 0;
  compare_with_naive(request);
}

TEST(CpuBackend, ZerosAreExact) {
  RunRequest request = small_request();
  request.activations = SyntheticInput{Distribution::Zeros, ElementType::Bf16};
  const Result<RunResult> result = run(*make_cpu_backend(), request);
  ASSERT_TRUE(result.ok());
  for (const ExpertResult& expert : result.value().experts) {
    EXPECT_EQ(expert.fprop.snr_db, std::numeric_limits<double>::infinity());
    EXPECT_EQ(expert.fprop.max_abs_error, 0.0);
  }
  EXPECT_EQ(statistics_of(result.value(), StepTensor::X)->before.zeros, 45U * 208U);
  EXPECT_EQ(statistics_of(result.value(), StepTensor::X)->amax.zeros, 45U * 2U);
}

std::uint64_t total(const MagnitudeHistogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::uint64_t{0}) +
         histogram.zeros + histogram.infinities + histogram.nans;
}

TEST(CpuBackend, HistogramsCountEveryElementAndEveryScaleOnce) {
  RunRequest request = small_request();
  request.activations = SyntheticInput{Distribution::NonFinite, ElementType::Bf16};
  for (const Scaling scaling : {Scaling::None, Scaling::PerTensorCurrent, Scaling::Block}) {
    request.recipe.scaling = scaling;
    const Result<RunResult> result = run(*make_cpu_backend(), request);
    ASSERT_TRUE(result.ok());
    const OperandStatistics& x = *statistics_of(result.value(), StepTensor::X);
    const OperandStatistics& w = *statistics_of(result.value(), StepTensor::WUp);
    EXPECT_EQ(x.elements, 45U * 208U);
    EXPECT_EQ(w.elements, 3U * 144U * 208U);
    EXPECT_EQ(total(x.before), x.elements);
    EXPECT_EQ(total(x.after), x.elements);
    EXPECT_EQ(total(w.after), w.elements);
    EXPECT_EQ(x.before.nans, x.after.nans);
    std::uint64_t x_scales = 0;
    std::uint64_t w_scales = 0;
    if (scaling == Scaling::PerTensorCurrent) x_scales = w_scales = 3;
    if (scaling == Scaling::Block) {
      x_scales = 45 * 2;
      w_scales = 3 * 2 * 2;
    }
    EXPECT_EQ(total(x.scale), x_scales);
    EXPECT_EQ(total(x.amax), x_scales);
    EXPECT_EQ(total(w.scale), w_scales);
    EXPECT_EQ(x.scale_map.mean.size(), x_scales);
    EXPECT_EQ(w.scale_map.mean.size(), w_scales);
  }
}

TEST(CpuBackend, RoundingToBf16IsMeasuredWhenTheInputIsWider) {
  RunRequest request = small_request();
  request.recipe.scaling = Scaling::None;
  request.activations = SyntheticInput{Distribution::Normal, ElementType::Fp32};
  const Result<RunResult> result = run(*make_cpu_backend(), request);
  ASSERT_TRUE(result.ok());
  // Rounding errors are uniform within half an ulp of 8 bits: about 55.7 dB on normal values.
  EXPECT_NEAR(statistics_of(result.value(), StepTensor::X)->snr_db, 55.7, 1.0);
  EXPECT_EQ(statistics_of(result.value(), StepTensor::WUp)->snr_db,
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace engine
