// Y, dX, dW and db of the CPU step against sums in double over the operands quantized for all
// experts at once.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/input/element_rounding.h"
#include "engine/quantize/quantize_cpu.h"
#include "kernels/dequantize/dequantize.h"
#include "tests/numerics/backend/cpu_step_bench.h"

namespace engine {
namespace {

using kernels::Direction;

float widened(ElementType type, const void* values, std::int64_t i) {
  if (type == ElementType::Fp32) return static_cast<const float*>(values)[i];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(values)[i];
  return type == ElementType::Fp16 ? fp16_value(bits) : bf16_value(bits);
}

/// What the products read, all experts: [rows, columns]. Delayed scaling depends on the `casts` so
/// far.
std::vector<float> operand(const RunRequest& request, const GroupedShape& shape, OperandRole role,
                           Direction direction, int casts) {
  const auto source = open_source(request, role, 0).value();
  std::vector<std::int64_t> offsets = {0};
  for (const std::int64_t rows : shape.splits) {
    offsets.push_back(offsets.back() + (role == OperandRole::Weights ? shape.n : rows));
  }
  const std::int64_t rows = offsets.back();
  std::vector<float> values(static_cast<std::size_t>(rows * source->columns()));
  source->read_f32(0, rows, values);
  const Recipe& recipe = request.recipe;
  if (recipe.scaling == Scaling::None) {
    const bool half = recipe.high_precision == ElementType::Fp16;
    for (float& x : values) x = half ? fp16_value(fp16_bits(x)) : bf16_value(bf16_bits(x));
    return values;
  }
  // The type decides some limits of block scaling: the elements as the step has them.
  std::vector<std::uint16_t> narrow;
  for (const float x : values) narrow.push_back(bf16_bits(x));
  CpuQuantizer quantizer({.recipe = recipe,
                          .role = role,
                          .direction = direction,
                          .input = {.input = narrow.data(),
                                    .type = kernels::InputType::Bf16,
                                    .row_offsets = offsets.data(),
                                    .num_groups = shape.num_experts(),
                                    .capacity_rows = rows,
                                    .columns = source->columns()},
                          .seed = request.seed});
  for (int cast = 0; cast < casts; ++cast) quantizer.quantize();
  kernels::dequantize_cpu({.quantized = quantizer.view(), .output = values.data()});
  return values;
}

/// Rounding of the output and the order of FP32 sums.
void expect_near(double actual, double expected, double magnitude, ElementType type,
                 const char* what) {
  const double relative = type == ElementType::Fp32   ? 1.3e-6
                          : type == ElementType::Fp16 ? 1e-3
                                                      : 1e-2;
  ASSERT_NEAR(actual, expected, relative * std::abs(expected) + 1e-5 + 2e-6 * magnitude) << what;
}

/// Sum over `count` of a[i * a_stride] * b[i * b_stride], and of its magnitudes.
struct Sum {
  double value = 0.0;
  double magnitude = 0.0;
};
Sum sum(const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
        std::int64_t count) {
  Sum total;
  for (std::int64_t i = 0; i < count; ++i) {
    const double term = static_cast<double>(a[i * a_stride]) * b[i * b_stride];
    total.value += term;
    total.magnitude += std::abs(term);
  }
  return total;
}

/// `saved_casts`: of X and W.
void check_expert(CpuStepBench<>& bench, int expert, int saved_casts = 1) {
  const RunRequest& request = bench.request;
  const std::int64_t n = bench.shape.n;
  const std::int64_t k = bench.shape.k;
  const std::int64_t m = bench.projection.rows(expert);
  const std::int64_t first = bench.projection.first_row(expert);
  const ElementType high = request.recipe.high_precision;
  const auto all = [&](OperandRole role, Direction direction) {
    const int casts = role == OperandRole::Gradients ? 1 : saved_casts;
    return operand(request, bench.shape, role, direction, casts);
  };
  if (bench.projection.runs_forward()) {
    const auto x = all(OperandRole::Activations, Direction::Rowwise);
    const auto w = all(OperandRole::Weights, Direction::Rowwise);
    for (std::int64_t i = 0; i < m * n; ++i) {
      const Sum y = sum(&x[static_cast<std::size_t>((first + i / n) * k)], 1,
                        &w[static_cast<std::size_t>((expert * n + i % n) * k)], 1, k);
      expect_near(widened(high, bench.buffers.product.get(), i), y.value, y.magnitude, high, "Y");
    }
  }
  if (!bench.projection.runs_backward()) return;
  const auto w = all(OperandRole::Weights, Direction::Columnwise);
  const auto x = all(OperandRole::Activations, Direction::Columnwise);
  const auto dy = all(OperandRole::Gradients, Direction::Rowwise);
  const auto dy_columns = all(OperandRole::Gradients, Direction::Columnwise);
  for (std::int64_t i = 0; i < m * k; ++i) {
    const Sum dx = sum(&dy[static_cast<std::size_t>((first + i / k) * n)], 1,
                       &w[static_cast<std::size_t>(expert * n * k + i % k)], k, n);
    expect_near(widened(high, bench.buffers.input_gradient.get(), i), dx.value, dx.magnitude, high,
                "dX");
  }
  for (std::int64_t i = 0; i < n * k; ++i) {
    const Sum dw = m == 0 ? Sum{}
                          : sum(&dy_columns[static_cast<std::size_t>(first * n + i / k)], n,
                                &x[static_cast<std::size_t>(first * k + i % k)], k, m);
    const ElementType type = request.products.wgrad_type;
    const double actual = widened(type, bench.projection.weight_gradient_of(0, expert), i);
    if (m == 0) {
      ASSERT_EQ(actual, 0.0);
    }
    expect_near(actual, dw.value, dw.magnitude, type, "dW");
  }
}

RunRequest step_request(Scaling scaling, StepPasses passes) {
  RunRequest request;
  // Rows 0 for every other expert, blocks that end early in both directions.
  request.shape = {.preset = "", .num_experts = 4, .rows = 75, .n = 48, .k = 144};
  request.routing.distribution = RoutingDistribution::HalfEmpty;
  request.recipe.scaling = scaling;
  request.products.passes = passes;
  return request;
}

constexpr Scaling kScalings[] = {Scaling::None,  Scaling::PerTensorCurrent,
                                 Scaling::Block, Scaling::PerTensorDelayed,
                                 Scaling::Mxfp8, Scaling::Nvfp4};
constexpr StepPasses kPasses[] = {StepPasses::Forward, StepPasses::Backward,
                                  StepPasses::ForwardBackward};

void check_request(const RunRequest& request) {
  ASSERT_TRUE(validate(request).ok());
  for (int expert = 0; expert < request.shape.num_experts; ++expert) {
    SCOPED_TRACE(expert);
    CpuStepBench bench(request);
    bench.step.run_expert(expert);
    check_expert(bench, expert);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(CpuLinearStep, MatchesSumsInDoubleForEveryRecipeAndPass) {
  for (const Scaling scaling : kScalings) {
    for (const StepPasses passes : kPasses) {
      SCOPED_TRACE(static_cast<int>(scaling) * 10 + static_cast<int>(passes));
      RunRequest request = step_request(scaling, passes);
      check_request(request);
      request.recipe.high_precision = ElementType::Fp16;
      request.products.wgrad_type = ElementType::Fp32;
      request.routing.distribution = RoutingDistribution::OneHot;
      check_request(request);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(CpuLinearStep, AWholeRunLeavesItsLastExpertsOutputs) {
  for (const Scaling scaling : kScalings) {
    for (const StepPasses passes : kPasses) {
      for (const bool delayed : {false, true}) {
        SCOPED_TRACE(static_cast<int>(scaling) * 10 + static_cast<int>(passes));
        RunRequest request = step_request(scaling, passes);
        request.routing.distribution = RoutingDistribution::Mild;
        request.products.delayed_wgrad = delayed;
        CpuStepBench bench(request);
        ASSERT_TRUE(bench.step.prepare().ok());
        ASSERT_TRUE(bench.step.run(WeightCast::Make).ok());
        // A backward step alone finds what forward steps have saved.
        const bool saved = passes == StepPasses::Backward;
        check_expert(bench, 3, saved ? traits_of(scaling).warm_up_steps() : 1);
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace engine
