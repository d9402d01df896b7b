// Bias, accumulation, micro-batches, order of the passes and cancelling in the CPU step, and what a
// backward run reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "engine/backend/backend.h"
#include "engine/input/element_rounding.h"
#include "engine/input/synthetic.h"
#include "tests/numerics/backend/cpu_step_bench.h"

namespace engine {
namespace {

class StageObserver : public StepObserver {
 public:
  void span(const WorkTag& tag, const char* name, int, std::int64_t, std::int64_t) override {
    stages.push_back(tag.stage);
    ++names[name];
    if (tag.stage == cancel_at) progress.cancel = true;
  }
  RunProgress progress;
  std::vector<Stage> stages;
  std::map<std::string, int> names;
  Stage cancel_at = Stage::Other;
};

using Bench = CpuStepBench<StageObserver>;

RunRequest backward_request(Scaling scaling) {
  RunRequest request;
  request.shape = {.preset = "", .num_experts = 4, .rows = 75, .n = 48, .k = 144};
  request.routing.distribution = RoutingDistribution::HalfEmpty;
  request.recipe.scaling = scaling;
  request.products.passes = StepPasses::ForwardBackward;
  request.launch.iterations = 2;
  return request;
}

TEST(CpuStepOptions, AccumulatingTwiceIsTwiceAndLeavesEmptyExpertsAlone) {
  for (const ElementType type : {ElementType::Bf16, ElementType::Fp32}) {
    RunRequest request = backward_request(Scaling::Mxfp8);
    request.products.accumulate_wgrad = true;
    request.products.wgrad_type = type;
    Bench bench(request);
    const auto value = [&](int expert, std::int64_t i) {
      const std::byte* dw = bench.projection.weight_gradient_of(0, expert);
      if (type == ElementType::Fp32) return reinterpret_cast<const float*>(dw)[i];
      return bf16_value(reinterpret_cast<const std::uint16_t*>(dw)[i]);
    };
    // An expert without tokens keeps what is there.
    std::memset(bench.projection.weight_gradient_of(0, 1), 0x40, 8);
    const float before = value(1, 0);
    ASSERT_TRUE(bench.step.run(WeightCast::Make).ok());
    const std::int64_t count = bench.shape.n * bench.shape.k;
    std::vector<float> once;
    for (std::int64_t i = 0; i < count; ++i) once.push_back(value(0, i));
    ASSERT_TRUE(bench.step.run(WeightCast::Make).ok());
    for (std::int64_t i = 0; i < count; ++i) {
      const float first = once[static_cast<std::size_t>(i)];
      const float tolerance = type == ElementType::Fp32 ? 0.0F : 0x1p-7F * std::abs(first);
      ASSERT_NEAR(value(0, i), 2.0F * first, tolerance);
    }
    EXPECT_EQ(value(1, 0), before);
    EXPECT_EQ(value(3, 0), 0.0F);
  }
}

TEST(CpuStepOptions, BiasIsAddedToTheRoundedProductAndItsGradientSumsTheRows) {
  for (const ElementType high : {ElementType::Bf16, ElementType::Fp16}) {
    RunRequest request = backward_request(Scaling::Block);
    request.recipe.high_precision = high;
    Bench plain(request);
    request.products.bias = true;
    Bench biased(request);
    const auto widen = [&](std::uint16_t bits) {
      return high == ElementType::Fp16 ? fp16_value(bits) : bf16_value(bits);
    };
    const auto narrow = [&](float x) {
      return high == ElementType::Fp16 ? fp16_bits(x) : bf16_bits(x);
    };
    const std::vector<float> b = bias_values(request, 0);
    const std::int64_t n = plain.shape.n;
    for (int expert = 0; expert < 4; ++expert) {
      plain.step.run_expert(expert);
      biased.step.run_expert(expert);
      const std::int64_t rows = plain.projection.rows(expert);
      for (std::int64_t i = 0; i < rows * n; ++i) {
        const float bias = widen(narrow(b[static_cast<std::size_t>(expert * n + i % n)]));
        ASSERT_EQ(biased.buffers.product.get()[i],
                  narrow(widen(plain.buffers.product.get()[i]) + bias));
      }
      std::vector<float> dy(static_cast<std::size_t>(rows * n));
      biased.operands.gradients->source().read_f32(biased.projection.first_row(expert), rows, dy);
      for (std::int64_t column = 0; column < n; ++column) {
        double sum = 0.0;
        for (std::int64_t row = 0; row < rows; ++row) {
          sum += dy[static_cast<std::size_t>(row * n + column)];
        }
        const float db = widen(biased.buffers.bias_gradient.get()[expert * n + column]);
        ASSERT_NEAR(db, sum, 4e-3 + 1e-2 * std::abs(sum));
      }
    }
    EXPECT_GT(biased.observer.names["add bias to Y"], 0);
  }
}

TEST(CpuStepOptions, MicroBatchesKeepTheWeightsOfTheFirst) {
  for (const StepPasses passes : {StepPasses::Forward, StepPasses::ForwardBackward}) {
    RunRequest request = backward_request(Scaling::Nvfp4);
    request.products.passes = passes;
    request.products.weight_reuse = 2;
    request.layers = 2;
    Bench bench(request);
    std::vector<std::vector<std::uint16_t>> products;
    std::vector<int> quantized;
    for (int iteration = 0; iteration < 3; ++iteration) {
      ASSERT_TRUE(bench.step.run(iteration % 2 == 0 ? WeightCast::Make : WeightCast::Keep).ok());
      const std::uint16_t* y = bench.buffers.product.get();
      products.emplace_back(y, y + bench.projection.rows(2) * bench.shape.n);
      quantized.push_back(bench.observer.names["quantize W, rowwise"]);
    }
    EXPECT_EQ(quantized, (std::vector<int>{8, 8, 16}));
    EXPECT_EQ(products[0], products[1]);
    EXPECT_EQ(products[0], products[2]);
  }
}

TEST(CpuStepOptions, DelayedWgradsComeAfterEverythingElse) {
  RunRequest request = backward_request(Scaling::None);
  request.products.delayed_wgrad = true;
  request.layers = 2;
  Bench bench(request);
  ASSERT_TRUE(bench.step.run(WeightCast::Make).ok());
  const auto& stages = bench.observer.stages;
  const auto first = std::find(stages.begin(), stages.end(), Stage::Wgrad);
  EXPECT_EQ(std::count(first, stages.end(), Stage::Wgrad), 8);
  EXPECT_EQ(stages.end() - first, 8);
}

TEST(CpuStepOptions, BackwardAloneQuantizesTheForwardOperandsBeforeTheIterations) {
  RunRequest request = backward_request(Scaling::Block);
  request.products.passes = StepPasses::Backward;
  Bench bench(request);
  ASSERT_TRUE(bench.step.prepare().ok());
  EXPECT_EQ(bench.observer.names["quantize W, columnwise"], 4);
  EXPECT_EQ(bench.observer.names["quantize X, columnwise"], 2);
  ASSERT_TRUE(bench.step.run(WeightCast::Make).ok());
  EXPECT_EQ(bench.observer.names["quantize W, columnwise"], 4);
  EXPECT_EQ(bench.observer.names["quantize dY, rowwise"], 2);
  EXPECT_EQ(std::count(bench.observer.stages.begin(), bench.observer.stages.end(), Stage::Fprop),
            0);
}

TEST(CpuStepOptions, CancelsInEveryBackwardStage) {
  for (const Stage stage : {Stage::Dgrad, Stage::Wgrad, Stage::Bias}) {
    RunRequest request = backward_request(Scaling::Mxfp8);
    request.products.bias = true;
    StageObserver observer;
    observer.cancel_at = stage;
    const auto result = make_cpu_backend()->run(request, {observer.progress, observer});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::Cancelled);
  }
}

/// The operands that a forward step has saved were cast with the scales of its history, not with
/// the 1 of an empty one.
TEST(CpuStepOptions, ABackwardStepFindsOperandsCastWithAHistory) {
  const auto result_of = [](StepPasses passes) {
    RunRequest request = backward_request(Scaling::PerTensorDelayed);
    request.products.passes = passes;
    request.launch.iterations = 3;
    StageObserver observer;
    auto run = make_cpu_backend()->run(request, {observer.progress, observer});
    EXPECT_TRUE(run.ok());
    return std::move(run).value();
  };
  const RunResult both = result_of(StepPasses::ForwardBackward);
  const RunResult backward = result_of(StepPasses::Backward);
  const auto expect_same = [](const OperandStatistics& a, const OperandStatistics& b) {
    EXPECT_EQ(a.snr_db, b.snr_db);
    EXPECT_EQ(a.saturated, b.saturated);
    EXPECT_EQ(a.underflowed, b.underflowed);
    EXPECT_EQ(a.scale_map.mean, b.scale_map.mean);
    EXPECT_FALSE(std::ranges::all_of(a.scale_map.mean, [](float one) { return one == 0.0F; }));
  };
  for (const StepTensor tensor : {StepTensor::X, StepTensor::WUp}) {
    expect_same(*statistics_of(both, tensor), *statistics_of(backward, tensor));
  }
  for (std::size_t expert = 0; expert < both.experts.size(); ++expert) {
    if (both.experts[expert].rows == 0) continue;
    EXPECT_EQ(both.experts[expert].dgrad.snr_db, backward.experts[expert].dgrad.snr_db);
    EXPECT_EQ(both.experts[expert].wgrad.snr_db, backward.experts[expert].wgrad.snr_db);
  }
}

TEST(CpuStepOptions, BackwardRunsReportGradientsAndProducts) {
  for (const Scaling scaling : {Scaling::None, Scaling::PerTensorCurrent, Scaling::Block,
                                Scaling::PerTensorDelayed, Scaling::Mxfp8, Scaling::Nvfp4}) {
    for (const StepPasses passes : {StepPasses::Backward, StepPasses::ForwardBackward}) {
      SCOPED_TRACE(static_cast<int>(scaling));
      RunRequest request = backward_request(scaling);
      request.products.passes = passes;
      request.products.accumulate_wgrad = true;
      request.products.bias = true;
      StageObserver observer;
      const auto run = make_cpu_backend()->run(request, {observer.progress, observer});
      ASSERT_TRUE(run.ok()) << run.error().message;
      const RunResult& result = run.value();
      EXPECT_TRUE(result.backward);
      EXPECT_TRUE(result.emulated.empty());
      EXPECT_EQ(statistics_of(result, StepTensor::DY)->elements, 75U * 48U);
      const double least = scaling == Scaling::Nvfp4 ? 10.0 : 20.0;
      for (const OperandStatistics* of :
           {statistics_of(result, StepTensor::X), statistics_of(result, StepTensor::WUp),
            statistics_of(result, StepTensor::DY)}) {
        EXPECT_GT(of->snr_db, least);
        EXPECT_EQ(of->scale_map.mean.empty(), scaling == Scaling::None);
      }
      ASSERT_EQ(result.experts.size(), 4U);
      for (const ExpertResult& expert : result.experts) {
        if (expert.rows == 0) {
          EXPECT_TRUE(std::isnan(expert.dgrad.snr_db));
          EXPECT_TRUE(std::isnan(expert.wgrad.snr_db));
          continue;
        }
        EXPECT_EQ(std::isnan(expert.fprop.snr_db), passes == StepPasses::Backward);
        EXPECT_GT(expert.dgrad.snr_db, least);
        EXPECT_GT(expert.wgrad.snr_db, least);
      }
    }
  }
}

}  // namespace
}  // namespace engine
