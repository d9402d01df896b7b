// The expert layer that begins and ends at tokens: against its definition in double, from the
// tokens themselves; against the kernels' definitions, step by step; and with recorded choices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/input/element_rounding.h"
#include "engine/input/routing.h"
#include "engine/input/token_routing.h"
#include "engine/model/leaves.h"
#include "tests/numerics/backend/layer_bench.h"

namespace engine {
namespace {

using ::testing::HasSubstr;

RunRequest token_request(Scaling scaling, StepPasses passes = StepPasses::ForwardBackward) {
  RunRequest request = layer_request(scaling, passes);
  request.routing.distribution = RoutingDistribution::Mild;
  request.expert_layer.top_k = 3;  // 25 tokens
  return request;
}

Result<RunResult> run_tokens(const RunRequest& request) {
  static const std::unique_ptr<Backend> kBackend = make_cpu_backend();
  RunProgress progress;
  StepObserver observer;
  return kBackend->run(request, {progress, observer});
}

std::vector<double> values(const TensorSource& source) {
  std::vector<float> all(static_cast<std::size_t>(source.rows() * source.columns()));
  source.read_f32(0, source.rows(), all);
  return {all.begin(), all.end()};
}

std::vector<double> numbers(const RunRequest& request, const std::uint16_t* bits,
                            std::int64_t count) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < count; ++i) {
    all.push_back(element_value(request.recipe.high_precision, bits, i));
  }
  return all;
}

/// SNR in dB of what was made.
double snr(const std::vector<double>& exact, const std::vector<double>& made) {
  EXPECT_EQ(exact.size(), made.size());
  double signal = 0.0;
  double noise = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    signal += exact[i] * exact[i];
    noise += (exact[i] - made[i]) * (exact[i] - made[i]);
  }
  return 10.0 * std::log10(signal / noise);
}

struct Made {
  std::vector<double> y, dx, dp;
};

Made made_by(LayerBench& bench, int layer) {
  const RunRequest& request = bench.request;
  const std::int64_t count = tokens_of(request) * request.shape.k;
  const LayerTensors& tensors = bench.layer.tensors();
  Made made;
  if (request.products.passes != StepPasses::Backward) {
    made.y = numbers(request, tensors.as<std::uint16_t>(StepTensor::YTokens, layer), count);
  }
  if (request.products.passes == StepPasses::Forward) return made;
  made.dx = numbers(request, tensors.as<std::uint16_t>(StepTensor::DXTokens, layer), count);
  const float* const dp = tensors.as<float>(StepTensor::DProbabilities, layer);
  made.dp.assign(dp, dp + request.shape.rows);
  return made;
}

/// The whole layer in double, one token after the other and one of its experts after the other:
/// nothing is permuted.
Made defined(LayerBench& bench) {
  const RunRequest& request = bench.request;
  const std::int64_t k = request.shape.k;
  const std::int64_t n = request.shape.n;
  const std::int64_t a = n / 2;
  const int top_k = request.expert_layer.top_k;
  const std::vector<double> x = values(bench.up.activations->source());
  const std::vector<double> dy = values(bench.down.gradients->source());
  const std::vector<double> up = values(bench.up.weights.front().source());
  const std::vector<double> down = values(bench.down.weights.front().source());
  const TokenRouting& routing = bench.layer.tokens()->routing();
  const std::vector<std::int32_t> experts = routing.experts_of(bench.shape.splits);
  Made made;
  const std::size_t elements = x.size();
  made.y.assign(elements, 0.0);
  made.dx.assign(elements, 0.0);
  const auto at = [](std::int64_t row, std::int64_t column, std::int64_t columns) {
    return static_cast<std::size_t>(row * columns + column);
  };
  for (std::size_t copy = 0; copy < experts.size(); ++copy) {
    made.dp.push_back(0.0);
    const std::int64_t expert = experts[copy];
    if (expert < 0) continue;
    const std::int64_t token = static_cast<std::int64_t>(copy) / top_k;
    const double p = routing.probabilities()[copy];
    std::vector<double> h(static_cast<std::size_t>(n), 0.0);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t c = 0; c < k; ++c) {
        h[at(0, i, n)] += x[at(token, c, k)] * up[at(expert * n + i, c, k)];
      }
    }
    std::vector<double> da(static_cast<std::size_t>(a), 0.0);
    std::vector<double> dh(static_cast<std::size_t>(n), 0.0);
    std::vector<double> act(static_cast<std::size_t>(a), 0.0);
    for (std::int64_t j = 0; j < a; ++j) {
      const double gate = h[at(0, j, n)];
      const double sigmoid = 1.0 / (1.0 + std::exp(-gate));
      act[at(0, j, a)] = gate * sigmoid * h[at(0, a + j, n)];
      for (std::int64_t c = 0; c < k; ++c) {
        da[at(0, j, a)] += p * dy[at(token, c, k)] * down[at(expert * k + c, j, a)];
      }
      const double slope = sigmoid * (1.0 + gate * (1.0 - sigmoid));
      dh[at(0, j, n)] = da[at(0, j, a)] * h[at(0, a + j, n)] * slope;
      dh[at(0, a + j, n)] = da[at(0, j, a)] * gate * sigmoid;
    }
    for (std::int64_t c = 0; c < k; ++c) {
      double y = 0.0;
      for (std::int64_t j = 0; j < a; ++j) y += act[at(0, j, a)] * down[at(expert * k + c, j, a)];
      made.y[at(token, c, k)] += p * y;
      made.dp.back() += dy[at(token, c, k)] * y;
      for (std::int64_t i = 0; i < n; ++i) {
        made.dx[at(token, c, k)] += dh[at(0, i, n)] * up[at(expert * n + i, c, k)];
      }
    }
  }
  return made;
}

TEST(CpuExpertLayerTokens, ComputesTheLayerOfTokens) {
  for (const Scaling scaling : all_scalings()) {
    SCOPED_TRACE(name_of(scaling));
    LayerBench bench(token_request(scaling));
    ASSERT_TRUE(bench.layer.run(WeightCast::Make).ok());
    const Made exact = defined(bench);
    const Made made = made_by(bench, 0);
    // Rounding to BF16 costs some 50 dB each time, a quantized operand 20 to 32.
    const double least = scaling == Scaling::None ? 40.0 : scaling == Scaling::Nvfp4 ? 8.0 : 20.0;
    EXPECT_GT(snr(exact.y, made.y), least);
    EXPECT_GT(snr(exact.dx, made.dx), least);
    EXPECT_GT(snr(exact.dp, made.dp), least);
  }
}

/// Rows that the products read, found without the map: experts in turn, and a token's place in the
/// order of the tokens.
TEST(CpuExpertLayerTokens, RowsAreCopiesOfTokensAndGradientsAreWeighted) {
  RunRequest request = token_request(Scaling::Block);
  request.layers = 2;
  LayerBench bench(request);
  ASSERT_TRUE(bench.layer.run(WeightCast::Make).ok());
  const std::int64_t k = request.shape.k;
  const LayerTensors& tensors = bench.layer.tensors();
  const std::vector<double> x = values(bench.up.activations->source());
  const std::vector<double> dy = values(bench.down.gradients->source());
  const std::vector<double> rows_of_x =
      numbers(request, tensors.as<std::uint16_t>(StepTensor::X), request.shape.rows * k);
  const std::vector<double> rows_of_dy =
      numbers(request, tensors.as<std::uint16_t>(StepTensor::DY), request.shape.rows * k);
  const TokenRouting& routing = bench.layer.tokens()->routing();
  const std::vector<std::int32_t> experts = routing.experts_of(bench.shape.splits);
  std::vector<double> sum(x.size(), 0.0);
  std::vector<double> magnitude(x.size(), 0.0);
  const std::vector<double> dx =
      numbers(request, tensors.as<std::uint16_t>(StepTensor::DX, 1), request.shape.rows * k);
  std::size_t row = 0;
  for (int expert = 0; expert < request.shape.num_experts; ++expert) {
    for (std::size_t copy = 0; copy < experts.size(); ++copy) {
      if (experts[copy] != expert) continue;
      const double p = routing.probabilities()[copy];
      for (std::size_t c = 0; c < static_cast<std::size_t>(k); ++c) {
        const std::size_t from = copy / 3 * static_cast<std::size_t>(k) + c;
        const std::size_t to = row * static_cast<std::size_t>(k) + c;
        ASSERT_EQ(rows_of_x[to], x[from]);
        ASSERT_NEAR(rows_of_dy[to], p * dy[from], std::abs(p * dy[from]) * 0.004);
        sum[from] += dx[to];
        magnitude[from] += std::abs(dx[to]);
      }
      ++row;
    }
  }
  EXPECT_EQ(row, 75U);
  const std::vector<double> made = made_by(bench, 1).dx;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    ASSERT_NEAR(made[i], sum[i], 0.004 * std::abs(sum[i]) + 1e-6 * magnitude[i]);
  }
  EXPECT_NE(made, made_by(bench, 0).dx) << "two layers with the same gradient";
}

TEST(CpuExpertLayerTokens, WithoutPermutationAStepUsesTheRowsOfTheLast) {
  for (const Scaling scaling : {Scaling::None, Scaling::Block}) {
    SCOPED_TRACE(name_of(scaling));
    LayerBench bench(token_request(scaling));
    const std::int64_t elements = tokens_of(bench.request) * bench.request.shape.k;
    const auto rows = [&] {
      const LayerTensors& tensors = bench.layer.tensors();
      const std::int64_t count = bench.request.shape.rows * bench.request.shape.k;
      return std::pair(numbers(bench.request, tensors.as<std::uint16_t>(StepTensor::Y, 0), count),
                       numbers(bench.request, tensors.as<std::uint16_t>(StepTensor::DX, 0), count));
    };
    ASSERT_TRUE(bench.layer.run(WeightCast::Make).ok());
    const Made first = made_by(bench, 0);
    const auto first_rows = rows();
    bench.layer.permute_tokens(false);
    std::fill_n(bench.layer.tensors().as<std::uint16_t>(StepTensor::YTokens), elements,
                std::uint16_t{0});
    std::fill_n(bench.layer.tensors().as<std::uint16_t>(StepTensor::DXTokens), elements,
                std::uint16_t{0});
    ASSERT_TRUE(bench.layer.run(WeightCast::Make).ok());
    EXPECT_EQ(rows(), first_rows);
    const std::vector<double> untouched(static_cast<std::size_t>(elements), 0.0);
    EXPECT_EQ(made_by(bench, 0).y, untouched);
    EXPECT_EQ(made_by(bench, 0).dx, untouched);
    bench.layer.permute_tokens(true);
    ASSERT_TRUE(bench.layer.run(WeightCast::Make).ok());
    EXPECT_EQ(made_by(bench, 0).y, first.y);
    EXPECT_EQ(made_by(bench, 0).dx, first.dx);
  }
}

TEST(CpuExpertLayerTokens, HowTheStepRunsChangesNoBit) {
  for (const Scaling scaling : {Scaling::None, Scaling::Block, Scaling::PerTensorDelayed}) {
    SCOPED_TRACE(name_of(scaling));
    const auto after = [](const RunRequest& request) {
      LayerBench bench(request);
      EXPECT_TRUE(bench.layer.prepare().ok());
      // A scale from the history settles with the second cast.
      EXPECT_TRUE(bench.layer.run(WeightCast::Make).ok());
      EXPECT_TRUE(bench.layer.run(WeightCast::Make).ok());
      return made_by(bench, 0);
    };
    const RunRequest request = token_request(scaling);
    const Made plain = after(request);
    RunRequest other = request;
    other.expert_layer.recompute_activation = true;
    other.expert_layer.fused_activation = false;
    other.products.delayed_wgrad = true;
    Made made = after(other);
    EXPECT_EQ(made.y, plain.y);
    EXPECT_EQ(made.dx, plain.dx);
    EXPECT_EQ(made.dp, plain.dp);
    other.products.passes = StepPasses::Backward;
    made = after(other);
    EXPECT_EQ(made.dx, plain.dx);
    EXPECT_EQ(made.dp, plain.dp);
    other.products.passes = StepPasses::Forward;
    EXPECT_EQ(after(other).y, plain.y);
  }
}

TEST(CpuExpertLayerTokens, ReportsTokensBesideRows) {
  for (const EnumName& passes : kType<StepPasses>.names) {
    SCOPED_TRACE(passes.name);
    const Result<RunResult> made =
        run_tokens(token_request(Scaling::Block, static_cast<StepPasses>(passes.value)));
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_TRUE(validate(made.value()).ok());
    const bool forward = made.value().effective.products.passes != StepPasses::Backward;
    const bool backward = made.value().effective.products.passes != StepPasses::Forward;
    ASSERT_NE(find_tensor(made.value(), StepTensor::XTokens), nullptr);
    EXPECT_EQ(find_tensor(made.value(), StepTensor::XTokens)->rows, 25);
    EXPECT_EQ(find_tensor(made.value(), StepTensor::XTokens)->bytes, 25 * 80 * 2);
    EXPECT_EQ(find_tensor(made.value(), StepTensor::X)->rows, 75);
    EXPECT_EQ(find_tensor(made.value(), StepTensor::YTokens) != nullptr, forward);
    EXPECT_EQ(find_tensor(made.value(), StepTensor::DXTokens) != nullptr, backward);
    if (forward) {
      EXPECT_GT(find_tensor(made.value(), StepTensor::YTokens)->error.snr_db, 20.0);
    }
    if (!backward) continue;
    EXPECT_GT(find_tensor(made.value(), StepTensor::DXTokens)->error.snr_db, 15.0);
    const TensorResult& dp = *find_tensor(made.value(), StepTensor::DProbabilities);
    EXPECT_EQ(dp.columns, 3);
    EXPECT_EQ(dp.bytes, 75 * 4);
    EXPECT_GT(dp.error.snr_db, 20.0);
    EXPECT_LT(dp.error.snr_db, 60.0);
  }
}

TEST(TokenRouting, GivesEveryExpertItsRowsAndEveryTokenDistinctExperts) {
  const TokenRouting routing(40, 4, 7);
  const std::vector<std::int64_t> splits = {40, 39, 0, 1, 40, 40};
  const std::vector<std::int32_t> experts = routing.experts_of(splits);
  ASSERT_EQ(experts.size(), 160U);
  for (std::size_t expert = 0; expert < splits.size(); ++expert) {
    EXPECT_EQ(std::ranges::count(experts, static_cast<std::int32_t>(expert)), splits[expert]);
  }
  for (std::size_t token = 0; token < 40; ++token) {
    const auto first = experts.begin() + static_cast<std::ptrdiff_t>(4 * token);
    EXPECT_EQ(std::set<std::int32_t>(first, first + 4).size(), 4U) << "token " << token;
    const auto p = routing.probabilities().begin() + static_cast<std::ptrdiff_t>(4 * token);
    EXPECT_NEAR(p[0] + p[1] + p[2] + p[3], 1.0, 1e-6);
  }
  // One expert has more rows than there are tokens: it alone is chosen twice.
  const std::vector<std::int32_t> heavy = routing.experts_of(std::vector<std::int64_t>{100, 30});
  EXPECT_EQ(std::ranges::count(heavy, 0), 100);
  EXPECT_EQ(std::ranges::count(heavy, 1), 30);
  EXPECT_EQ(std::ranges::count(heavy, -1), 30);
  EXPECT_NE(TokenRouting(40, 4, 8).experts_of(splits), experts) << "the seed has no effect";
}

/// With equal splits experts that lie a whole round apart had the same tokens, in the same order.
TEST(TokenRouting, ExpertsDoNotShareTheirTokens) {
  constexpr std::int64_t kTokens = 64;
  const TokenRouting routing(kTokens, 4, 7);
  const std::vector<std::int64_t> splits(16, 16);  // four experts per place
  const std::vector<std::int32_t> experts = routing.experts_of(splits);
  std::vector<std::set<std::int64_t>> tokens(splits.size());
  for (std::size_t copy = 0; copy < experts.size(); ++copy) {
    tokens[static_cast<std::size_t>(experts[copy])].insert(static_cast<std::int64_t>(copy / 4));
  }
  for (std::size_t a = 0; a < tokens.size(); ++a) {
    EXPECT_EQ(tokens[a].size(), 16U) << "expert " << a;
    for (std::size_t b = a + 1; b < tokens.size(); ++b) EXPECT_NE(tokens[a], tokens[b]);
  }
}

TEST(TokenRouting, SizesThatDoNotFitAreRefusedWithBothValues) {
  RunRequest request = token_request(Scaling::None);
  request.shape.rows = 76;
  EXPECT_EQ(request.flaw().field, "shape.rows");
  EXPECT_THAT(request.flaw().says, HasSubstr("is 76; with expert_layer.top_k 3"));
  EXPECT_THAT(request.flaw().message(), HasSubstr("use 78"));
  request.shape.rows = 75;
  request.expert_layer.top_k = 5;
  EXPECT_EQ(request.flaw().field, "expert_layer.top_k");
  EXPECT_THAT(request.flaw().says, HasSubstr("is 5, but the shape has 4 experts"));
  request.step = StepKind::Linear;
  EXPECT_TRUE(request.flaw().empty()) << "no step of tokens";
}

std::string written(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

TEST(TokenRouting, StepsWithEqualSplitsHaveTheirOwnChoices) {
  RunRequest request = token_request(Scaling::None);
  request.expert_layer.top_k = 2;
  request.shape.rows = 4;
  request.launch.iterations = 2;
  request.measure.recorded_steps = 2;
  request.routing.distribution = RoutingDistribution::File;
  request.routing.numbers = RoutingNumbers::Vllm;
  request.routing.tokens_per_step = 2;
  // Both steps give every expert one row; their tokens choose other ones.
  request.routing.path = written("equal_splits.json", "[[0,1],[2,3],[3,0],[1,2]]");
  const auto routing = resolve_routing(request);
  ASSERT_TRUE(routing.ok()) << routing.error().message;
  const std::vector<std::int64_t> splits = {1, 1, 1, 1};
  EXPECT_THAT(routing.value().splits_of_steps(), testing::Each(splits));
  EXPECT_EQ(routing.value().tokens->experts_of(splits, 0), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(routing.value().tokens->experts_of(splits, 1), (std::vector<std::int32_t>{3, 0, 1, 2}));
  // The second step as it is in the file, and alone: the same error of Y.
  const Result<RunResult> both = run_tokens(request);
  ASSERT_TRUE(both.ok()) << both.error().message;
  request.routing.path = written("second.json", "[[3,0],[1,2],[3,0],[1,2]]");
  const Result<RunResult> second = run_tokens(request);
  ASSERT_TRUE(second.ok()) << second.error().message;
  const std::vector<RecordedStep>& steps = both.value().recorded_routing->steps;
  EXPECT_EQ(steps[1].y_snr_db, second.value().recorded_routing->steps[1].y_snr_db);
  EXPECT_NE(steps[1].y_snr_db, steps[0].y_snr_db) << "the first step's choices were replayed";
}

TEST(TokenRouting, ARunReadsItsFileOnce) {
  RunRequest request = token_request(Scaling::None);
  request.expert_layer.top_k = 2;
  request.shape.rows = 4;
  request.routing.distribution = RoutingDistribution::File;
  request.routing.numbers = RoutingNumbers::Vllm;
  request.routing.path = written("once.json", "[[0,1],[2,3]]");
  const auto routing = resolve_routing(request);
  ASSERT_TRUE(routing.ok()) << routing.error().message;
  // Whatever the file holds now, splits and choices are of what was read.
  written("once.json", "[[0,0],[0,0]]");
  ASSERT_NE(routing.value().tokens, nullptr);
  EXPECT_EQ(routing.value().tokens->experts_of(routing.value().shape.splits),
            (std::vector<std::int32_t>{0, 1, 2, 3}));
}

TEST(TokenRouting, RecordedChoicesArePermutedAsTheyAre) {
  RunRequest request = token_request(Scaling::None);
  request.expert_layer.top_k = 2;
  request.shape.rows = 8;
  request.routing.distribution = RoutingDistribution::File;
  request.routing.numbers = RoutingNumbers::Vllm;
  request.routing.tokens_per_step = 4;
  // Two steps of four and three tokens; one choice is dropped.
  request.routing.path = written("choices.json", "[[3,1],[0,1],[2,3],[1,0],[0,2],[3,-1],[1,2]]");
  const auto routing = resolve_token_routing(request);
  ASSERT_TRUE(routing.ok()) << routing.error().message;
  EXPECT_EQ(routing.value()->experts_of(std::vector<std::int64_t>{2, 3, 1, 2}),
            (std::vector<std::int32_t>{3, 1, 0, 1, 2, 3, 1, 0}));
  EXPECT_EQ(routing.value()->experts_of(std::vector<std::int64_t>{1, 1, 2, 1}, 1),
            (std::vector<std::int32_t>{0, 2, 3, -1, 1, 2, -1, -1}));
  request.launch.iterations = 4;
  const Result<RunResult> made = run_tokens(request);
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_EQ(made.value().recorded_routing->steps.size(), 2U);
  EXPECT_GT(made.value().recorded_routing->steps[1].dx_snr_db, 30.0);
  EXPECT_GT(find_tensor(made.value(), StepTensor::YTokens)->error.snr_db, 40.0);

  request.expert_layer.top_k = 4;
  EXPECT_THAT(run_tokens(request).error().message,
              HasSubstr("choose 2 experts each, but "
                        "expert_layer.top_k is 4: set it to 2"));
  request.expert_layer.top_k = 2;
  request.shape.rows = 6;
  EXPECT_FALSE(run_tokens(request).ok());
}

}  // namespace
}  // namespace engine
