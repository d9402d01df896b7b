// A recorded routing on the device: replays of one captured step, and eager launches, have the
// splits of their recorded steps, bit for bit those of steps that never had others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/device/handles.h"
#include "engine/linear/recorded_splits.h"
#include "tests/gpu/backend/step_fixture.h"
#include "tests/unit/input/temporary_file.h"

namespace engine::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using StepSplits = std::vector<std::int64_t>;

const std::vector<StepSplits>& steps() {
  static const std::vector<StepSplits> all = {
      {128, 128, 128, 128}, {0, 200, 12, 300}, {511, 0, 0, 1},  {0, 0, 0, 0},
      {33, 65, 129, 285},   {1, 2, 3, 4},      {100, 0, 0, 100}};
  return all;
}

std::string json_of(const std::vector<StepSplits>& all) {
  std::string text = "[";
  for (const StepSplits& splits : all) {
    text += text.size() > 1 ? ", [" : "[";
    for (std::size_t i = 0; i < splits.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(splits[i]);
    }
    text += "]";
  }
  return text + "]";
}

class RecordedStepsTest : public StepFixture {};

TEST_F(RecordedStepsTest, SplitsEnqueuedBetweenReplaysAreFollowedBitForBit) {
  for (const bool int32 : {false, true}) {
    Recipe recipe;
    recipe.scaling = Scaling::Block;
    ProductOptions products;
    products.passes = StepPasses::ForwardBackward;
    if (!refusal(recipe, products).empty()) GTEST_SKIP() << refusal(recipe, products);
    const Status made = make({.num_groups = 4,
                              .capacity_rows = 512,
                              .n = 256,
                              .k = 256,
                              .layers = 2,
                              .recipe = recipe,
                              .products = products,
                              .int32_splits = int32});
    ASSERT_TRUE(made.ok()) << made.error().message;
    std::vector<std::vector<std::uint64_t>> eager;
    for (const StepSplits& splits : steps()) {
      const auto sums = eager_checksums(splits);
      ASSERT_TRUE(sums.ok()) << sums.error().message;
      eager.push_back(sums.value());
    }
    const auto recorded = RecordedSplits::create(steps(), int32);
    ASSERT_TRUE(recorded.ok()) << recorded.error().message;
    const auto graph =
        capture(stream_.get(), [&] { return step_->launch(stream_.get(), observer_); });
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const auto exec = instantiate(graph.value());
    ASSERT_TRUE(exec.ok()) << exec.error().message;
    for (const std::size_t at : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 2U, 0U}) {
      ASSERT_TRUE(check_.poison(*step_, stream_.get()).ok());
      ASSERT_TRUE(recorded.value().enqueue(at, *step_, stream_.get()).ok());
      ASSERT_EQ(cudaGraphLaunch(exec.value().get(), stream_.get()), cudaSuccess);
      const auto sums = check_.checksums(*step_, stream_.get());
      ASSERT_TRUE(sums.ok()) << sums.error().message;
      EXPECT_EQ(sums.value(), eager[at]) << "step " << at;
    }
    EXPECT_TRUE(step_->check_splits(stream_.get()).ok());
  }
}

class CudaRecordedRoutingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    slot_ = make_cuda_backend("");
    if (slot_.backend == nullptr) GTEST_SKIP() << slot_.reason;
  }
  Result<RunResult> run(const RunRequest& request) {
    return slot_.backend->run(request, {.progress = progress_, .observer = observer_});
  }
  static RunRequest request_of(const TemporaryFile& file, StepKind kind, LaunchKind launch,
                               GemmBackend backend = GemmBackend::CublasLtGrouped) {
    RunRequest request;
    request.step = kind;
    request.shape = {.preset = {}, .num_experts = 4, .rows = 512, .n = 512, .k = 256};
    request.routing = {.distribution = RoutingDistribution::File, .path = file.path()};
    request.recipe.scaling = Scaling::Block;
    request.backend = backend;
    request.launch.kind = launch;
    request.launch.iterations = 16;
    request.products.passes = StepPasses::ForwardBackward;
    return request;
  }
  void expect_steps(const RunResult& result, const RunRequest& request) {
    ASSERT_TRUE(result.recorded_routing.has_value());
    const RecordedRouting& recorded = *result.recorded_routing;
    ASSERT_THAT(recorded.steps, SizeIs(steps().size()));
    EXPECT_THAT(result.iterations, SizeIs(21)) << "16, rounded up to whole cycles";
    for (std::size_t i = 0; i < steps().size(); ++i) {
      SCOPED_TRACE(::testing::Message() << "step " << i);
      const RecordedStep& step = recorded.steps[i];
      EXPECT_EQ(step.splits, steps()[i]);
      EXPECT_EQ(step.visits, 3);
      EXPECT_GT(step.median_ns, 0.0);
      EXPECT_EQ(std::isnan(step.y_snr_db), step.rows == 0);
    }
    for (const ReplayCheck& check : result.replay_checks) {
      EXPECT_THAT(check.wrong_experts, IsEmpty()) << "replay " << check.replay;
    }
    for (const std::size_t at : {1U, 4U}) {
      const TemporaryFile only("only_splits.json", json_of({steps()[at], steps()[at]}));
      RunRequest alone = request;
      alone.routing.path = only.path();
      const auto single = run(alone);
      ASSERT_TRUE(single.ok()) << single.error().message;
      const RecordedStep& step = recorded.steps[at];
      const RecordedStep& other = single.value().recorded_routing->steps[0];
      // Blocks add their sums of squares in the order in which they finish.
      EXPECT_NEAR(step.y_snr_db, other.y_snr_db, 1e-6);
      EXPECT_NEAR(step.dx_snr_db, other.dx_snr_db, 1e-6);
      EXPECT_NEAR(step.dw_snr_db, other.dw_snr_db, 1e-6);
    }
  }

  BackendSlot slot_;
  RunProgress progress_;
  StepObserver observer_;
};

TEST_F(CudaRecordedRoutingTest, EagerStepsAndReplaysOfOneGraphVisitTheStepsInTurn) {
  const TemporaryFile file("splits.json", json_of(steps()));
  for (const StepKind kind : {StepKind::Linear, StepKind::ExpertLayer}) {
    for (const LaunchKind launch : {LaunchKind::Eager, LaunchKind::GraphReplay}) {
      for (const bool int32 : {false, true}) {
        SCOPED_TRACE(std::string(name_of(kind)) + ", " + std::string(name_of(launch)));
        RunRequest request = request_of(file, kind, launch);
        request.int32_splits = int32;
        const auto result = run(request);
        ASSERT_TRUE(result.ok()) << result.error().message;
        expect_steps(result.value(), request);
        const bool graph = launch == LaunchKind::GraphReplay;
        EXPECT_EQ(result.value().replay_checks.empty(), !graph);
      }
    }
  }
}

TEST_F(CudaRecordedRoutingTest, TheCpuBackendFindsTheSameErrors) {
  const TemporaryFile file("splits.json", json_of(steps()));
  const RunRequest request = request_of(file, StepKind::Linear, LaunchKind::Eager);
  const auto device = run(request);
  ASSERT_TRUE(device.ok()) << device.error().message;
  RunRequest host = request;
  host.backend = GemmBackend::CpuReference;
  const auto cpu = make_cpu_backend();
  const auto expected = cpu->run(host, {.progress = progress_, .observer = observer_});
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  for (std::size_t i = 0; i < steps().size(); ++i) {
    const RecordedStep& one = device.value().recorded_routing->steps[i];
    const RecordedStep& other = expected.value().recorded_routing->steps[i];
    if (one.rows == 0) continue;
    EXPECT_NEAR(one.y_snr_db, other.y_snr_db, 0.1) << "step " << i;
    EXPECT_NEAR(one.dx_snr_db, other.dx_snr_db, 0.1) << "step " << i;
    EXPECT_NEAR(one.dw_snr_db, other.dw_snr_db, 0.1) << "step " << i;
  }
}

TEST_F(CudaRecordedRoutingTest, OneMatmulPerExpertFollowsEagerlyAndKeepsItsCapture) {
  const TemporaryFile file("splits.json", json_of(steps()));
  const auto request = [&](LaunchKind launch) {
    RunRequest made = request_of(file, StepKind::Linear, launch, GemmBackend::CublasLtPerExpert);
    // cuBLASLt has no FP8 block product of an expert's 511 rows.
    made.recipe.scaling = Scaling::None;
    return made;
  };
  const RunRequest eager = request(LaunchKind::Eager);
  const auto followed = run(eager);
  ASSERT_TRUE(followed.ok()) << followed.error().message;
  expect_steps(followed.value(), eager);
  const auto kept = run(request(LaunchKind::GraphReplay));
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  EXPECT_THAT(kept.value().recorded_routing->steps, SizeIs(1));
  EXPECT_EQ(kept.value().effective.routing.steps, 1);
  const auto& deviations = kept.value().deviations;
  const auto found = std::ranges::find(deviations, "routing.steps", &Deviation::field);
  ASSERT_NE(found, deviations.end());
  EXPECT_THAT(found->reason, HasSubstr("step 0"));
}

TEST_F(CudaRecordedRoutingTest, WhatIsRememberedGoesFromStepToStep) {
  const TemporaryFile file("splits.json", json_of(steps()));
  for (const StepKind kind : {StepKind::Linear, StepKind::ExpertLayer}) {
    for (const StepPasses passes :
         {StepPasses::Forward, StepPasses::Backward, StepPasses::ForwardBackward}) {
      RunRequest request = request_of(file, kind, LaunchKind::GraphReplay);
      request.recipe.scaling = Scaling::PerTensorDelayed;
      request.recipe.delayed.history_length = 3;
      request.products.passes = passes;
      request.products.accumulate_wgrad = passes != StepPasses::Forward;
      request.products.weight_reuse = 2;
      const auto result = run(request);
      ASSERT_TRUE(result.ok()) << result.error().message;
      for (const ReplayCheck& check : result.value().replay_checks) {
        EXPECT_THAT(check.wrong_experts, IsEmpty()) << "replay " << check.replay;
      }
      const RecordedStep& step = result.value().recorded_routing->steps[0];
      if (passes != StepPasses::Backward) {
        EXPECT_GT(step.y_snr_db, 15.0);
      }
      if (passes != StepPasses::Forward) {
        EXPECT_GT(step.dw_snr_db, 15.0);
      }
    }
  }
}

}  // namespace
}  // namespace engine::testing
