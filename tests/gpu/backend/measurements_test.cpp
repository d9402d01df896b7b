// What a run measures besides its iterations, on a device, with CUPTI watching.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/backend/backend.h"
#include "engine/program/operation_words.h"
#include "profiling/cupti/cupti_collector.h"

namespace engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kIterations = 12;

class MeasurementsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Before the first CUDA call, as the worker does it.
    auto collector = profiling::make_cupti_collector();
    if (collector.ok()) {
      collector_ = std::move(collector).value();
    } else {
      // Under a sanitizer CUPTI is in use; tests that need no records still run.
      no_records_ = collector.error().message;
      collector_ = profiling::make_host_span_collector();
    }
    slot_ = make_cuda_backend("");
    if (slot_.backend == nullptr) GTEST_SKIP() << slot_.reason;
  }

  Result<RunResult> run(const RunRequest& request) {
    Result<RunResult> result =
        slot_.backend->run(request, {.progress = progress_, .observer = *collector_});
    activity_ = collector_->take();
    (void)collector_->take_snapshot();
    return result;
  }

  /// Timed records by iteration.
  std::map<int, std::vector<profiling::ActivityRecord>> by_iteration() const {
    std::map<int, std::vector<profiling::ActivityRecord>> records;
    for (const profiling::ActivityRecord& record : activity_.records) {
      if (record.iteration >= 0) records[record.iteration].push_back(record);
    }
    return records;
  }

  std::unique_ptr<profiling::ActivityCollector> collector_;
  std::string no_records_;  // why; empty = CUPTI watches
  BackendSlot slot_;
  RunProgress progress_;
  profiling::Activity activity_;
};

RunRequest request_of(Scaling scaling, LaunchKind launch) {
  RunRequest request;
  request.shape = {.preset = {}, .num_experts = 4, .rows = 1024, .n = 256, .k = 512};
  request.routing = {.distribution = RoutingDistribution::HalfEmpty, .path = {}, .alignment = 128};
  request.recipe.scaling = scaling;
  request.backend = GemmBackend::CublasLtGrouped;
  request.launch = {.kind = launch, .iterations = kIterations};
  return request;
}

std::set<int> experts_of(const RunResult& result, ExpertMethod method, Stage stage) {
  std::set<int> experts;
  for (const ExpertTiming& timing : result.measurements.experts) {
    if (timing.method != method || timing.stage != stage) continue;
    EXPECT_GT(timing.samples, 0);
    EXPECT_GT(timing.median_ns, 0.0);
    EXPECT_LE(timing.p5_ns, timing.median_ns);
    EXPECT_GE(timing.p95_ns, timing.median_ns);
    EXPECT_TRUE(experts.insert(timing.expert).second) << "expert " << timing.expert << " twice";
  }
  return experts;
}

TEST_F(MeasurementsTest, StampsAndIsolationTimeEveryExpertThatHasRows) {
  for (const Scaling scaling : {Scaling::PerTensorCurrent, Scaling::PerTensorDelayed,
                                Scaling::Block, Scaling::Mxfp8, Scaling::Nvfp4}) {
    RunRequest request = request_of(scaling, LaunchKind::GraphReplay);
    request.products.passes = StepPasses::ForwardBackward;
    request.measure.stamps = request.measure.isolated = true;
    const auto result = run(request);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_THAT(
        result.value().deviations,
        Not(::testing::Contains(::testing::Field(&Deviation::field, HasSubstr("measure.")))));
    std::set<int> filled;
    for (std::size_t e = 0; e < result.value().splits.size(); ++e) {
      if (result.value().splits[e] > 0) filled.insert(static_cast<int>(e));
    }
    ASSERT_EQ(filled, (std::set<int>{0, 2}));
    EXPECT_EQ(experts_of(result.value(), ExpertMethod::Stamps, Stage::Quantize), filled);
    for (const Stage stage : {Stage::Quantize, Stage::Fprop, Stage::Dgrad, Stage::Wgrad}) {
      EXPECT_EQ(experts_of(result.value(), ExpertMethod::Isolated, stage), filled);
    }
    for (const ReplayCheck& check : result.value().replay_checks) {
      EXPECT_THAT(check.wrong_experts, IsEmpty());
    }
  }
}

TEST_F(MeasurementsTest, ALayerOfOurOwnProductsHasALaunchOfTilesForEachOfThem) {
  RunRequest request = request_of(Scaling::Block, LaunchKind::GraphReplay);
  request.step = StepKind::ExpertLayer;
  request.backend = GemmBackend::Expertscope;
  request.products.passes = StepPasses::ForwardBackward;
  request.measure.stamps = true;
  const auto result = run(request);
  ASSERT_TRUE(result.ok()) << result.error().message;
  if (!traits_of(result.value().effective.backend).own_products) {
    GTEST_SKIP() << result.value().deviations.front().reason;
  }
  std::map<Stage, int> launches;
  for (const TiledLaunch& launch : result.value().measurements.tiled_launches) {
    ++launches[launch.stage];
    EXPECT_TRUE(is_known(launch.writes));
    EXPECT_EQ(launch.multiprocessors, result.value().device.multiprocessors);
    EXPECT_GT(launch.tiles, 0);
  }
  std::map<std::string, int> experts;
  for (const ExpertTiming& timing : result.value().measurements.experts) {
    ++experts[operation_name(StepKind::ExpertLayer, timing.stage, timing.writes)];
  }
  for (const char* product : {"fprop up", "fprop down"}) EXPECT_GT(experts[product], 0) << product;
  EXPECT_EQ(launches,
            (std::map<Stage, int>{
                {Stage::Quantize, 1}, {Stage::Fprop, 2}, {Stage::Dgrad, 2}, {Stage::Wgrad, 2}}));
  for (const ReplayCheck& check : result.value().replay_checks) {
    EXPECT_THAT(check.wrong_experts, IsEmpty());
  }
}

TEST_F(MeasurementsTest, WithoutQuantizationStampsAreRefusedWithASentence) {
  RunRequest request = request_of(Scaling::None, LaunchKind::Eager);
  request.measure.stamps = true;
  const auto result = run(request);
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result.value().deviations.size(), 1U);
  EXPECT_EQ(result.value().deviations[0].field, "measure.stamps");
  EXPECT_THAT(result.value().deviations[0].reason, HasSubstr("quantizes nothing"));
}

TEST_F(MeasurementsTest, RecordsOfThePerExpertBackendNameTheExpert) {
  if (!no_records_.empty()) GTEST_SKIP() << no_records_;
  for (const LaunchKind launch : {LaunchKind::Eager, LaunchKind::GraphReplay}) {
    RunRequest request = request_of(Scaling::PerTensorCurrent, launch);
    request.backend = GemmBackend::CublasLtPerExpert;
    request.measure.isolated = true;
    const auto result = run(request);
    ASSERT_TRUE(result.ok()) << result.error().message;
    for (const auto& [iteration, records] : by_iteration()) {
      std::set<int> experts;
      for (const profiling::ActivityRecord& record : records) {
        if (record.stage == Stage::Fprop && record.kind == profiling::ActivityKind::Kernel) {
          experts.insert(record.expert);
        }
      }
      EXPECT_EQ(experts, (std::set<int>{0, 2})) << "iteration " << iteration;
    }
    EXPECT_EQ(by_iteration().size(), static_cast<std::size_t>(kIterations));
    EXPECT_EQ(experts_of(result.value(), ExpertMethod::Isolated, Stage::Fprop),
              (std::set<int>{0, 2}));
  }
}

TEST_F(MeasurementsTest, TraceLevelsDecideWhatIsRecorded) {
  if (!no_records_.empty()) GTEST_SKIP() << no_records_;
  RunRequest request = request_of(Scaling::Block, LaunchKind::GraphReplay);
  request.measure.trace = TraceLevel::Graphs;
  auto result = run(request);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(collector_->method(), HasSubstr("one per graph launch"));
  auto records = by_iteration();
  EXPECT_EQ(records.size(), static_cast<std::size_t>(kIterations));
  for (const auto& [iteration, of_one] : records) {
    ASSERT_EQ(of_one.size(), 1U) << "iteration " << iteration;
    EXPECT_EQ(of_one[0].kind, profiling::ActivityKind::Graph);
    EXPECT_GT(of_one[0].duration_ns(), 0);
  }

  request.measure.trace = TraceLevel::Off;
  result = run(request);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(by_iteration(), IsEmpty());
  EXPECT_THAT(collector_->method(), HasSubstr("tracing was off"));
  EXPECT_EQ(result.value().iterations.size(), static_cast<std::size_t>(kIterations));

  request.measure = {};
  request.measure.traced_iterations = 5;
  result = run(request);
  ASSERT_TRUE(result.ok()) << result.error().message;
  records = by_iteration();
  ASSERT_EQ(records.size(), 5U);
  EXPECT_EQ(records.rbegin()->first, 4);
  const std::size_t per_replay = records.begin()->second.size();
  EXPECT_GT(per_replay, 2U);
  for (const auto& [iteration, of_one] : records) {
    EXPECT_EQ(of_one.size(), per_replay) << "iteration " << iteration;
  }
  EXPECT_EQ(collector_->dropped(), 0U);
}

TEST_F(MeasurementsTest, TheObserverIsMeasuredUnderEveryLevelAndTheRunStaysComplete) {
  if (!no_records_.empty()) GTEST_SKIP() << no_records_;
  RunRequest request = request_of(Scaling::Block, LaunchKind::GraphReplay);
  request.measure.observer = true;
  const auto result = run(request);
  ASSERT_TRUE(result.ok()) << result.error().message;
  std::set<TraceLevel> levels;
  for (const ObserverTiming& timing : result.value().measurements.observer) {
    levels.insert(timing.level);
    EXPECT_EQ(timing.samples, 90);
    EXPECT_GT(timing.median_ns, 0.0);
  }
  EXPECT_EQ(levels, (std::set<TraceLevel>{TraceLevel::Nodes, TraceLevel::Graphs, TraceLevel::Off}));
  EXPECT_EQ(by_iteration().size(), static_cast<std::size_t>(kIterations));
  EXPECT_EQ(collector_->dropped(), 0U);

  request.launch.kind = LaunchKind::Eager;
  const auto eager = run(request);
  ASSERT_TRUE(eager.ok()) << eager.error().message;
  EXPECT_EQ(eager.value().measurements.observer.size(), 2U);
}

TEST_F(MeasurementsTest, CeilingsComeFromThisDevice) {
  for (const Scaling scaling : {Scaling::None, Scaling::PerTensorCurrent, Scaling::Block}) {
    RunRequest request = request_of(scaling, LaunchKind::Eager);
    request.measure.ceilings = true;
    const auto result = run(request);
    ASSERT_TRUE(result.ok()) << result.error().message;
    const Ceilings& ceilings = result.value().measurements.ceilings;
    EXPECT_EQ(ceilings.copies, 10);
    EXPECT_GT(ceilings.copy_bytes_per_s, 1e11);  // any device with these kernels copies faster
    EXPECT_EQ(ceilings.products, 20) << ceilings.product;
    EXPECT_GT(ceilings.product_flop_per_s, 0.0);
    EXPECT_THAT(ceilings.product, HasSubstr("dense 1024 x 256 x 512"));
  }
}

TEST_F(MeasurementsTest, ColdAndBurstAreStatedAndKeepTheResult) {
  RunRequest request = request_of(Scaling::Block, LaunchKind::GraphReplay);
  const auto warm = run(request);
  ASSERT_TRUE(warm.ok()) << warm.error().message;
  request.measure.cache = CacheMode::Cold;
  request.measure.pace = Pace::Burst;
  const auto cold = run(request);
  ASSERT_TRUE(cold.ok()) << cold.error().message;
  EXPECT_THAT(cold.value().iteration_method, HasSubstr("cold L2 cache, after 50 ms of rest"));
  EXPECT_GT(cold.value().iterations.back().start_ns, (kIterations - 1) * 50'000'000LL);
  // The sums of the statistics are added in any order.
  EXPECT_NEAR(cold.value().experts[0].fprop.snr_db, warm.value().experts[0].fprop.snr_db, 1e-6);
  // The write between iterations belongs to none of them.
  for (const auto& [iteration, records] : by_iteration()) {
    for (const profiling::ActivityRecord& record : records) EXPECT_NE(record.stage, Stage::Check);
  }
}

}  // namespace
}  // namespace engine
