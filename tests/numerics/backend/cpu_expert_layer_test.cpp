// The expert layer against its definition in double, tensor by tensor from what the step itself
// made before, and against itself: how it computes the activation must not change a bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "engine/backend/cpu/unquantized_layer.h"
#include "engine/input/element_rounding.h"
#include "tests/numerics/backend/layer_bench.h"

namespace engine {
namespace {

using kernels::Direction;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// f(x) and f'(x), as published.
struct Point {
  double value;
  double slope;
};
Point function(LayerActivation activation, double x) {
  const auto sloped = [x](double s) {
    const double g = sigmoid(s * x);
    return Point{x * g, g + s * x * g * (1.0 - g)};
  };
  switch (activation) {
    case LayerActivation::SwiGlu:
    case LayerActivation::Silu:
      return sloped(1.0);
    case LayerActivation::ClampedSwiGlu:
    case LayerActivation::QGeGlu:
    case LayerActivation::QGelu:
      return sloped(1.702);
    case LayerActivation::GeGlu:
    case LayerActivation::Gelu: {
      const double c = std::sqrt(2.0 / std::acos(-1.0));
      const double t = std::tanh(c * (x + 0.044715 * x * x * x));
      return {0.5 * x * (1.0 + t),
              0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * c * (1.0 + 3.0 * 0.044715 * x * x)};
    }
    case LayerActivation::ReGlu:
    case LayerActivation::Relu:
      return {x > 0 ? x : 0.0, x > 0 ? 1.0 : 0.0};
    default:
      return {x > 0 ? x * x : 0.0, x > 0 ? 2.0 * x : 0.0};
  }
}

/// A of one element, and its derivatives by gate and up.
struct Activated {
  double value = 0.0;
  double by_gate = 0.0;
  double by_up = 0.0;
};
Activated activated(LayerActivation activation, double gate, double up) {
  if (!traits_of(activation).formula.gated) {
    const Point f = function(activation, gate);
    return {f.value, f.slope, 0.0};
  }
  if (activation == LayerActivation::ClampedSwiGlu) {
    const bool gate_in = gate <= 7.0;
    const bool up_in = up <= 7.0 && up >= -7.0;
    const Point f = function(activation, std::min(gate, 7.0));
    const double u = std::min(std::max(up, -7.0), 7.0) + 1.0;
    return {f.value * u, gate_in ? f.slope * u : 0.0, up_in ? f.value : 0.0};
  }
  const Point f = function(activation, gate);
  return {f.value * up, f.slope * up, f.value};
}

double number(ElementType type, const void* values, std::int64_t i) {
  return element_value(type, values, i);
}

/// What a product reads of an expert of layer 0.
std::vector<float> read_by_product(CpuProjection& step, OperandRole role, Direction direction,
                                   int expert) {
  OperandStage& stage = step.stage(role, direction);
  const ExpertElements elements = step.elements(role, 0, expert);
  const float* const wide = stage.widen(elements, 0);
  return {wide, wide + elements.rows * stage.plan().columns};
}

/// `made` against sums in double of `count` terms: rounding of the output, and the order of sums.
struct Matrix {
  const float* values;
  std::int64_t row;     // from one row of the output to the next
  std::int64_t column;  // from one column
  std::int64_t term;    // from one term of the sum to the next
};
void expect_product(const char* what, const void* made, ElementType type, std::int64_t rows,
                    std::int64_t columns, std::int64_t terms, const Matrix& a, const Matrix& b) {
  const double relative = type == ElementType::Fp32   ? 1.3e-6
                          : type == ElementType::Fp16 ? 1e-3
                                                      : 1e-2;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      double sum = 0.0;
      double magnitude = 0.0;
      for (std::int64_t t = 0; t < terms; ++t) {
        const double term = static_cast<double>(a.values[r * a.row + t * a.term]) *
                            b.values[c * b.column + t * b.term];
        sum += term;
        magnitude += std::abs(term);
      }
      ASSERT_NEAR(number(type, made, r * columns + c), sum,
                  relative * std::abs(sum) + 1e-5 + 2e-6 * magnitude)
          << what << " row " << r << " column " << c;
    }
  }
}

/// The values that quantizing reads: A or dH, written by the step because nothing is fused.
void expect_activation(LayerBench& bench, int expert, bool gradient) {
  const RunRequest& request = bench.request;
  const ElementType type = request.recipe.high_precision;
  const std::int64_t m = bench.layer.up().rows(expert);
  const std::int64_t columns = bench.layer.activated_columns();
  const std::int64_t n = bench.shape.n;
  CpuProjection& step = gradient ? bench.layer.up() : bench.layer.down();
  const OperandRole role = gradient ? OperandRole::Gradients : OperandRole::Activations;
  const std::byte* const made = step.elements(role, 0, expert).elements;
  const bool gated = traits_of(request.expert_layer.activation).formula.gated;
  for (std::int64_t i = 0; i < m * columns; ++i) {
    const std::int64_t r = i / columns;
    const std::int64_t c = i % columns;
    const double gate = number(type, bench.layer.values_of(StepTensor::H, expert), r * n + c);
    const double up =
        gated ? number(type, bench.layer.values_of(StepTensor::H, expert), r * n + columns + c)
              : 0.0;
    const Activated expected = activated(request.expert_layer.activation, gate, up);
    const auto expect = [&](std::int64_t at, double value) {
      ASSERT_NEAR(number(type, made, at), value, 5e-3 * std::abs(value) + 1e-6)
          << (gradient ? "dH " : "A ") << r << " " << c << " gate " << gate << " up " << up;
    };
    if (!gradient) {
      expect(i, expected.value);
      continue;
    }
    const double da = number(type, bench.layer.values_of(StepTensor::DA, expert), i);
    expect(r * n + c, expected.by_gate * da);
    if (gated) expect(r * n + columns + c, expected.by_up * da);
  }
}

/// One expert of a step whose activation is not fused.
void check_expert(LayerBench& bench, int expert) {
  CpuProjection& up = bench.layer.up();
  CpuProjection& down = bench.layer.down();
  const ElementType high = bench.request.recipe.high_precision;
  const ElementType wgrad = bench.request.products.wgrad_type;
  const std::int64_t m = up.rows(expert);
  const std::int64_t n = bench.shape.n;
  const std::int64_t k = bench.shape.k;
  const std::int64_t i = bench.layer.activated_columns();
  bench.layer.run_expert(expert);
  const auto of = [&](CpuProjection& step, OperandRole role, Direction direction) {
    return read_by_product(step, role, direction, expert);
  };
  constexpr Direction kRows = Direction::Rowwise;
  constexpr Direction kColumns = Direction::Columnwise;
  const auto x = of(up, OperandRole::Activations, kRows);
  const auto w_up = of(up, OperandRole::Weights, kRows);
  expect_product("H", bench.layer.values_of(StepTensor::H, expert), high, m, n, k,
                 {x.data(), k, 0, 1}, {w_up.data(), 0, k, 1});
  expect_activation(bench, expert, /*gradient=*/false);
  const auto a = of(down, OperandRole::Activations, kRows);
  const auto w_down = of(down, OperandRole::Weights, kRows);
  expect_product("Y", down.output_of(0, expert), high, m, k, i, {a.data(), i, 0, 1},
                 {w_down.data(), 0, i, 1});
  if (!bench.layer.runs_backward()) return;

  const auto dy = of(down, OperandRole::Gradients, kRows);
  const auto w_down_columns = of(down, OperandRole::Weights, kColumns);
  expect_product("dA", bench.layer.values_of(StepTensor::DA, expert), high, m, i, k,
                 {dy.data(), k, 0, 1}, {w_down_columns.data(), 0, 1, i});
  expect_activation(bench, expert, /*gradient=*/true);
  const auto dh = of(up, OperandRole::Gradients, kRows);
  const auto w_up_columns = of(up, OperandRole::Weights, kColumns);
  expect_product("dX", up.input_gradient_of(0, expert), high, m, k, n, {dh.data(), n, 0, 1},
                 {w_up_columns.data(), 0, 1, k});
  const auto dy_columns = of(down, OperandRole::Gradients, kColumns);
  const auto a_columns = of(down, OperandRole::Activations, kColumns);
  expect_product("dWdown", down.weight_gradient_of(0, expert), wgrad, k, i, m,
                 {dy_columns.data(), 1, 0, k}, {a_columns.data(), 0, 1, i});
  const auto dh_columns = of(up, OperandRole::Gradients, kColumns);
  const auto x_columns = of(up, OperandRole::Activations, kColumns);
  expect_product("dWup", up.weight_gradient_of(0, expert), wgrad, n, k, m,
                 {dh_columns.data(), 1, 0, n}, {x_columns.data(), 0, 1, k});
}

TEST(CpuExpertLayer, MatchesItsDefinitionInDoubleForEveryRecipe) {
  for (const Scaling scaling : all_scalings()) {
    SCOPED_TRACE(name_of(scaling));
    RunRequest request = layer_request(scaling);
    request.expert_layer.fused_activation = false;
    for (const bool mixed : {false, true}) {
      request.expert_layer.mixed_recipes = mixed;
      request.expert_layer.down_scaling = Scaling::Mxfp8;
      ASSERT_TRUE(validate(request).ok()) << validate(request).error().message;
      LayerBench bench(request);
      for (int expert = 0; expert < 4; ++expert) check_expert(bench, expert);
    }
  }
}

TEST(CpuExpertLayer, MatchesItsDefinitionInDoubleForEveryActivation) {
  for (const EnumName& name : kType<LayerActivation>.names) {
    SCOPED_TRACE(name.name);
    for (const ElementType high : {ElementType::Bf16, ElementType::Fp16}) {
      RunRequest request = layer_request(Scaling::Block);
      request.expert_layer.activation = static_cast<LayerActivation>(name.value);
      request.expert_layer.fused_activation = false;
      request.recipe.high_precision = high;
      request.products.wgrad_type = ElementType::Fp32;
      LayerBench bench(request);
      for (int expert = 0; expert < 4; ++expert) check_expert(bench, expert);
    }
  }
}

/// Everything that a whole run leaves, as bytes.
struct Bytes {
  std::string y, dx, up_gradient, down_gradient, up_bias, down_bias;
  bool operator==(const Bytes&) const = default;
};
Bytes outputs(const RunRequest& request, int iterations = 1) {
  LayerBench bench(request);
  EXPECT_TRUE(bench.layer.prepare().ok());
  for (int i = 0; i < iterations; ++i) EXPECT_TRUE(bench.layer.run(WeightCast::Make).ok());
  // Buffers hold the last expert that ran; of a backward step, in the first layer.
  const int expert = 2;
  bench.layer.run_expert(expert);
  const std::int64_t m = bench.layer.up().rows(expert);
  const std::int64_t n = bench.shape.n;
  const std::int64_t k = bench.shape.k;
  const std::int64_t columns = bench.layer.activated_columns();
  const auto text = [](const void* values, std::int64_t bytes) {
    return std::string(static_cast<const char*>(values), static_cast<std::size_t>(bytes));
  };
  Bytes bytes;
  bytes.y = text(bench.layer.down().output_of(0, expert), m * k * 2);
  bytes.dx = text(bench.layer.up().input_gradient_of(0, expert), m * k * 2);
  bytes.up_gradient = text(bench.layer.up().weight_gradient_of(0, expert), n * k * 2);
  bytes.down_gradient = text(bench.layer.down().weight_gradient_of(0, expert), k * columns * 2);
  if (request.products.bias) {
    bytes.up_bias = text(bench.layer.up().bias_gradient(), 4 * n * 2);
    bytes.down_bias = text(bench.layer.down().bias_gradient(), 4 * k * 2);
  }
  return bytes;
}

TEST(CpuExpertLayer, HowTheActivationIsComputedChangesNoBit) {
  for (const Scaling scaling : all_scalings()) {
    for (const LayerActivation activation :
         {LayerActivation::SwiGlu, LayerActivation::ClampedSwiGlu, LayerActivation::Gelu}) {
      SCOPED_TRACE(std::string(name_of(scaling)) + " " + std::string(name_of(activation)));
      RunRequest request = layer_request(scaling);
      request.expert_layer.activation = activation;
      request.products.bias = true;
      const Bytes fused = outputs(request);
      RunRequest other = request;
      other.expert_layer.fused_activation = false;
      EXPECT_TRUE(outputs(other) == fused) << "not fused";
      other.expert_layer.recompute_activation = true;
      EXPECT_TRUE(outputs(other) == fused) << "not fused, recomputed";
      request.expert_layer.recompute_activation = true;
      EXPECT_TRUE(outputs(request) == fused) << "recomputed";
    }
  }
}

/// dWup and dWdown of every layer and expert after a whole run, accumulated so that all stay.
std::vector<std::string> all_weight_gradients(RunRequest request) {
  request.products.accumulate_wgrad = true;
  LayerBench bench(request);
  EXPECT_TRUE(bench.layer.prepare().ok());
  EXPECT_TRUE(bench.layer.run(WeightCast::Make).ok());
  std::vector<std::string> all;
  for (int layer = 0; layer < request.layers; ++layer) {
    for (int expert = 0; expert < request.shape.num_experts; ++expert) {
      for (CpuProjection* step : {&bench.layer.up(), &bench.layer.down()}) {
        const std::int64_t bytes = step->shape().n * step->shape().k * 2;
        all.emplace_back(reinterpret_cast<const char*>(step->weight_gradient_of(layer, expert)),
                         static_cast<std::size_t>(bytes));
      }
    }
  }
  return all;
}

TEST(CpuExpertLayer, LayersAndLateWeightGradientsKeepTheirOwnTensors) {
  for (const Scaling scaling : {Scaling::None, Scaling::Block}) {
    for (const bool fused : {true, false}) {
      for (const bool recompute : {false, true}) {
        SCOPED_TRACE(name_of(scaling));
        RunRequest request = layer_request(scaling);
        request.layers = 2;
        request.expert_layer.fused_activation = fused;
        request.expert_layer.recompute_activation = recompute;
        const std::vector<std::string> now = all_weight_gradients(request);
        EXPECT_NE(now[0], now[8]) << "two layers with the same gradients";
        request.products.delayed_wgrad = true;
        EXPECT_EQ(all_weight_gradients(request), now);
        request.products.passes = StepPasses::Backward;
        EXPECT_EQ(all_weight_gradients(request), now);
      }
    }
  }
}

TEST(CpuExpertLayer, ABackwardStepWithAHistoryFindsEveryCopySettled) {
  RunRequest request = layer_request(Scaling::PerTensorDelayed, StepPasses::Backward);
  const std::vector<std::string> kept = all_weight_gradients(request);
  request.expert_layer.recompute_activation = true;
  EXPECT_EQ(all_weight_gradients(request), kept);
}

// The reference and the step share one implementation of what is between the products.
TEST(CpuExpertLayer, AnOperationBetweenProductsRunsOnAnyMemory) {
  RunRequest request = layer_request(Scaling::Block);
  request.expert_layer.activation = LayerActivation::Relu;
  LayerBench bench(request);
  UnquantizedLayer exact(bench.layer, StepPasses::Forward, ElementType::Fp32);
  int between = 0;
  for (int expert = 0; expert < bench.shape.num_experts(); ++expert) {
    exact.begin(expert);
    const std::int64_t count = exact.rows(StepTensor::H) * exact.columns(StepTensor::H);
    auto* const h = static_cast<float*>(exact.room(StepTensor::H));
    for (std::int64_t i = 0; i < count; ++i) h[i] = static_cast<float>(i % 7) / 3.0F - 1.0F;
    for (const Operation& operation : exact.operations()) {
      if (!operation.traits().by_row) continue;
      exact.run({&operation, 1}, [](StepTensor) { return nullptr; });
      ++between;
    }
    const auto* const a = static_cast<const float*>(exact.values(StepTensor::A));
    for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(a[i], std::max(h[i], 0.0F)) << i;
  }
  EXPECT_EQ(between, bench.shape.num_experts()) << "the activation, though the step fuses it";
}

}  // namespace
}  // namespace engine
