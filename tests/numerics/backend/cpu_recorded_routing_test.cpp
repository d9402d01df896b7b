// A recorded routing on the CPU backend: iterations have the splits of their steps, with the bits
// of steps that never had others, and every step is reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/backend/backend.h"
#include "tests/numerics/backend/cpu_step_bench.h"
#include "tests/unit/input/temporary_file.h"

namespace engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Splits = std::vector<std::int64_t>;

const std::vector<Splits>& steps() {
  static const std::vector<Splits> all = {
      {40, 0, 24, 11}, {0, 75, 0, 0}, {1, 2, 3, 4}, {0, 0, 0, 0}, {30, 15, 15, 15}};
  return all;
}

std::string json_of(const std::vector<Splits>& all) {
  std::string text = "[";
  for (const Splits& splits : all) {
    text += text.size() > 1 ? ", [" : "[";
    for (std::size_t i = 0; i < splits.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(splits[i]);
    }
    text += "]";
  }
  return text + "]";
}

RunRequest recorded_request(const TemporaryFile& file, Scaling scaling,
                            StepKind kind = StepKind::Linear) {
  RunRequest request;
  request.step = kind;
  request.shape = {.preset = "", .num_experts = 4, .rows = 75, .n = 64, .k = 96};
  request.routing = {.distribution = RoutingDistribution::File, .path = file.path()};
  request.recipe.scaling = scaling;
  request.launch.iterations = 7;
  return request;
}

Result<RunResult> run_cpu(const RunRequest& request) {
  const auto backend = make_cpu_backend();
  RunProgress progress;
  StepObserver observer;
  return backend->run(request, {progress, observer});
}

/// Y, dX, dW and db of every layer, filled with a pattern first.
struct Outputs {
  explicit Outputs(const RunRequest& request) {
    const ShapeSpec& shape = request.shape;
    for (int layer = 0; layer < request.layers; ++layer) {
      y.emplace_back(static_cast<std::size_t>(shape.rows * shape.n), 0xABAB);
      dx.emplace_back(static_cast<std::size_t>(shape.rows * shape.k), 0xABAB);
      dw.emplace_back(static_cast<std::size_t>(shape.num_experts * shape.n * shape.k), 0xABAB);
    }
  }
  std::vector<LayerOutputs> addresses() {
    std::vector<LayerOutputs> all(y.size());
    for (std::size_t layer = 0; layer < y.size(); ++layer) {
      all[layer] = {.y = y[layer].data(), .dx = dx[layer].data(), .dw = dw[layer].data()};
    }
    return all;
  }
  std::vector<std::vector<std::uint16_t>> y, dx, dw;
};

TEST(CpuRecordedRouting, EveryIterationHasTheBitsOfAStepThatNeverHadOtherSplits) {
  for (const Scaling scaling :
       {Scaling::None, Scaling::PerTensorCurrent, Scaling::Block, Scaling::Mxfp8, Scaling::Nvfp4}) {
    SCOPED_TRACE(name_of(scaling));
    const TemporaryFile file("splits.json", json_of(steps()));
    RunRequest request = recorded_request(file, scaling);
    request.products.passes = StepPasses::ForwardBackward;
    request.layers = 2;
    Outputs several(request);
    CpuStepBench step(request, several.addresses());
    for (const std::size_t at : {0U, 1U, 2U, 4U, 1U, 0U}) {
      const Splits& splits = steps()[at];
      step.step.set_splits(splits, at);
      ASSERT_TRUE(step.step.run(WeightCast::Make).ok());
      const TemporaryFile only("only_splits.json", json_of({splits, splits}));
      RunRequest alone = request;
      alone.routing.path = only.path();
      Outputs one(alone);
      CpuStepBench fresh(alone, one.addresses());
      ASSERT_TRUE(fresh.step.run(WeightCast::Make).ok());
      const auto rows = static_cast<std::size_t>(fresh.shape.sum_m());
      for (std::size_t layer = 0; layer < 2; ++layer) {
        SCOPED_TRACE(testing::Message() << "step " << at << ", layer " << layer);
        EXPECT_EQ(std::memcmp(several.y[layer].data(), one.y[layer].data(), 2 * rows * 64), 0);
        EXPECT_EQ(std::memcmp(several.dx[layer].data(), one.dx[layer].data(), 2 * rows * 96), 0);
        EXPECT_EQ(several.dw[layer], one.dw[layer]);
      }
    }
  }
}

TEST(CpuRecordedRouting, StepsAreVisitedInTurnAndReported) {
  const TemporaryFile file("splits.json", json_of(steps()));
  RunRequest request = recorded_request(file, Scaling::Block);
  request.measure.recorded_steps = 3;
  const auto result = run_cpu(request);
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_TRUE(result.value().recorded_routing.has_value());
  const RecordedRouting& recorded = *result.value().recorded_routing;
  EXPECT_EQ(recorded.source, "rows per expert, by step, integers [5, 4]");
  EXPECT_EQ(recorded.file_steps, 5);
  ASSERT_EQ(recorded.steps.size(), 5U);
  EXPECT_THAT(result.value().splits, ElementsAre(40, 0, 24, 11));
  EXPECT_EQ(result.value().iterations.size(), 10U) << "7, rounded up to two visits of every step";
  const auto rounded = std::ranges::find(result.value().deviations,
                                         std::string("launch.iterations"), &Deviation::field);
  ASSERT_NE(rounded, result.value().deviations.end());
  EXPECT_EQ(rounded->requested, "7");
  EXPECT_EQ(rounded->effective, "10");
  double rows = 0.0;
  for (std::size_t i = 0; i < 5; ++i) {
    const RecordedStep& step = recorded.steps[i];
    SCOPED_TRACE(testing::Message() << "step " << i);
    EXPECT_EQ(step.step, static_cast<std::int64_t>(i));
    EXPECT_EQ(step.splits, steps()[i]);
    EXPECT_EQ(step.visits, 2);
    EXPECT_GT(step.median_ns, 0.0);
    const std::int64_t first = result.value().iterations[i].duration_ns;
    const std::int64_t again = result.value().iterations[i + 5].duration_ns;
    EXPECT_DOUBLE_EQ(step.median_ns, 0.5 * static_cast<double>(first + again));
    EXPECT_EQ(std::isnan(step.y_snr_db), i >= 3) << "not asked for";
    EXPECT_TRUE(std::isnan(step.dx_snr_db)) << "there is no backward pass";
    rows += static_cast<double>(step.visits * step.rows);
  }
  EXPECT_DOUBLE_EQ(recorded.steps[0].imbalance, 40.0 * 4 / 75);
  EXPECT_TRUE(std::isnan(recorded.steps[3].imbalance)) << "no rows";
  EXPECT_THAT(recorded.numerics, HasSubstr("first 3 of 5 steps"));
  EXPECT_DOUBLE_EQ(result.value().flop, 2.0 * 64 * 96 * rows / 10);
}

TEST(CpuRecordedRouting, IterationsThatReachNotEveryStepAreSaidSo) {
  const TemporaryFile file("splits.json", json_of(steps()));
  RunRequest request = recorded_request(file, Scaling::Block);
  request.launch.iterations = 2;
  const auto result = run_cpu(request);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const RecordedRouting& recorded = *result.value().recorded_routing;
  EXPECT_EQ(recorded.steps[2].visits, 0);
  EXPECT_TRUE(std::isnan(recorded.steps[2].median_ns));
  EXPECT_THAT(recorded.numerics, HasSubstr("2 iterations reached no more"));
}

/// Error of all experts from those of each.
double snr_over_experts(const RunResult& result, Product product, double columns) {
  double signal = 0.0;
  double noise = 0.0;
  for (const ExpertResult& expert : result.experts) {
    const ProductAccuracy& one = expert.of(product);
    if (std::isnan(one.snr_db)) continue;
    const double rows = product == Product::Wgrad ? 1.0 : static_cast<double>(expert.rows);
    const double squares = one.reference_rms * one.reference_rms * rows * columns;
    signal += squares;
    noise += squares / std::pow(10.0, one.snr_db / 10.0);
  }
  return 10.0 * std::log10(signal / noise);
}

TEST(CpuRecordedRouting, ErrorsAreThoseOfARunOfThatStepAlone) {
  for (const StepKind kind : {StepKind::Linear, StepKind::ExpertLayer}) {
    const TemporaryFile file("splits.json", json_of(steps()));
    RunRequest request = recorded_request(file, Scaling::Block, kind);
    request.products.passes = StepPasses::ForwardBackward;
    const auto recorded = run_cpu(request);
    ASSERT_TRUE(recorded.ok()) << recorded.error().message;
    for (const std::size_t at : {0U, 2U, 4U}) {
      SCOPED_TRACE(testing::Message()
                   << "step " << at << (kind == StepKind::Linear ? "" : " layer"));
      const TemporaryFile only("only_splits.json", json_of({steps()[at], steps()[at]}));
      RunRequest alone = request;
      alone.routing.path = only.path();
      const auto single = run_cpu(alone);
      ASSERT_TRUE(single.ok()) << single.error().message;
      const RecordedStep& step = recorded.value().recorded_routing->steps[at];
      EXPECT_DOUBLE_EQ(step.y_snr_db, single.value().recorded_routing->steps[0].y_snr_db);
      EXPECT_NEAR(
          step.y_snr_db,
          snr_over_experts(single.value(), Product::Fprop, kind == StepKind::Linear ? 64 : 96),
          1e-6);
      EXPECT_NEAR(step.dx_snr_db, snr_over_experts(single.value(), Product::Dgrad, 96), 1e-6);
      EXPECT_NEAR(step.dw_snr_db, snr_over_experts(single.value(), Product::Wgrad, 1), 1e-6);
    }
  }
}

TEST(CpuRecordedRouting, WhatIsRememberedGoesFromStepToStep) {
  // Delayed scaling, accumulated dW, weights kept over micro-batches and a pass that reads what
  // forward saved: none may read past the rows of another step.
  const TemporaryFile file("splits.json", json_of(steps()));
  for (const StepKind kind : {StepKind::Linear, StepKind::ExpertLayer}) {
    for (const StepPasses passes :
         {StepPasses::Forward, StepPasses::Backward, StepPasses::ForwardBackward}) {
      RunRequest request = recorded_request(file, Scaling::PerTensorDelayed, kind);
      request.recipe.delayed.history_length = 3;
      request.products.passes = passes;
      request.products.accumulate_wgrad = passes != StepPasses::Forward;
      request.products.weight_reuse = 2;
      const auto result = run_cpu(request);
      ASSERT_TRUE(result.ok()) << result.error().message;
      const RecordedStep& step = result.value().recorded_routing->steps[0];
      EXPECT_EQ(std::isnan(step.y_snr_db), passes == StepPasses::Backward);
      EXPECT_EQ(std::isnan(step.dw_snr_db), passes == StepPasses::Forward);
      if (passes != StepPasses::Backward) {
        EXPECT_GT(step.y_snr_db, 15.0);
      }
      if (passes != StepPasses::Forward) {
        EXPECT_GT(step.dw_snr_db, 15.0);
      }
    }
  }
}

TEST(CpuRecordedRouting, AListOfSplitsIsOneRecordedStep) {
  const TemporaryFile file("one.json", "[40, 0, 24, 11]");
  const auto result = run_cpu(recorded_request(file, Scaling::Block));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const RecordedRouting& recorded = *result.value().recorded_routing;
  ASSERT_EQ(recorded.steps.size(), 1U);
  EXPECT_EQ(recorded.steps[0].visits, 7);
  EXPECT_THAT(recorded.numerics, HasSubstr("the numerics of the run"));
}

TEST(CpuRecordedRouting, CancellingWhileStepsAreMeasuredEndsTheRun) {
  struct CancelAfter final : StepObserver {
    void end_iteration() override { ++iterations; }
    void span(const WorkTag& tag, const char* name, int, std::int64_t, std::int64_t) override {
      if (iterations == 10 && tag.stage == Stage::Check && std::strcmp(name, "errors") == 0) {
        progress->cancel.store(true);
      }
    }
    RunProgress* progress = nullptr;
    int iterations = 0;
  };
  const TemporaryFile file("splits.json", json_of(steps()));
  const auto backend = make_cpu_backend();
  RunProgress progress;
  CancelAfter observer;
  observer.progress = &progress;
  const auto result = backend->run(recorded_request(file, Scaling::Block), {progress, observer});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::Cancelled);
}

}  // namespace
}  // namespace engine
