// Whole runs through the CUDA backend, and its reason if there is no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/backend/backend.h"
#include "engine/device/device_facts.h"

namespace engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CudaBackendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    slot_ = make_cuda_backend("");
    if (slot_.backend == nullptr) GTEST_SKIP() << slot_.reason;
  }

  Result<RunResult> run(const RunRequest& request) {
    progress_.request_id = 7;
    return slot_.backend->run(request, {.progress = progress_, .observer = observer_});
  }

  BackendSlot slot_;
  RunProgress progress_;
  StepObserver observer_;
};

RunRequest small_request(Scaling scaling) {
  RunRequest request;
  request.shape = {.preset = {}, .num_experts = 4, .rows = 1000, .n = 256, .k = 512};
  request.routing.distribution = RoutingDistribution::Zipf;
  request.recipe.scaling = scaling;
  request.backend = GemmBackend::CublasLtGrouped;
  request.launch.iterations = 8;
  request.layers = 2;
  return request;
}

void expect_complete(const RunResult& result, const RunRequest& request) {
  EXPECT_EQ(result.id, 7U);
  EXPECT_EQ(result.iterations.size(), static_cast<std::size_t>(request.launch.iterations));
  for (const Iteration& iteration : result.iterations) EXPECT_GT(iteration.duration_ns, 0);
  EXPECT_EQ(result.experts.size(), static_cast<std::size_t>(request.shape.num_experts));
  EXPECT_EQ(statistics_of(result, StepTensor::X)->elements,
            static_cast<std::uint64_t>(request.shape.rows * request.shape.k));
  EXPECT_EQ(
      statistics_of(result, StepTensor::WUp)->elements,
      static_cast<std::uint64_t>(request.shape.num_experts * request.shape.n * request.shape.k));
  EXPECT_THAT(result.device.cublaslt_version, Not(IsEmpty()));
  EXPECT_GT(result.flop, 0.0);
}

TEST_F(CudaBackendTest, AccuracyMatchesTheRecipe) {
  struct Range {
    Scaling scaling;
    double low_db;
    double high_db;
  };
  // One rounding of Y to BF16 is about 50 dB; E4M3 operands leave about 28 dB.
  for (const Range& range :
       {Range{Scaling::None, 45.0, 60.0}, Range{Scaling::PerTensorCurrent, 22.0, 36.0},
        Range{Scaling::Block, 22.0, 36.0}}) {
    const RunRequest request = small_request(range.scaling);
    const auto result = run(request);
    ASSERT_TRUE(result.ok()) << result.error().message;
    expect_complete(result.value(), request);
    EXPECT_THAT(result.value().replay_checks, IsEmpty());
    for (const ExpertResult& expert : result.value().experts) {
      EXPECT_GT(expert.fprop.snr_db, range.low_db);
      EXPECT_LT(expert.fprop.snr_db, range.high_db);
    }
    const bool fp8 = range.scaling != Scaling::None;
    EXPECT_EQ(statistics_of(result.value(), StepTensor::X)->scale_map.rows > 0, fp8);
    EXPECT_EQ(!statistics_of(result.value(), StepTensor::WUp)->amax.counts.empty(), fp8);
    EXPECT_EQ(std::isinf(statistics_of(result.value(), StepTensor::X)->snr_db), !fp8);
  }
}

TEST_F(CudaBackendTest, ReplaysAreCheckedAgainstEagerPerExpertAndLayer) {
  RunRequest request = small_request(Scaling::Block);
  request.launch.kind = LaunchKind::GraphReplay;
  const auto result = run(request);
  ASSERT_TRUE(result.ok()) << result.error().message;
  expect_complete(result.value(), request);
  ASSERT_EQ(result.value().replay_checks.size(), 12U);  // 6 verified replays of 2 layers
  for (const ReplayCheck& check : result.value().replay_checks) {
    EXPECT_THAT(check.wrong_experts, IsEmpty()) << "replay " << check.replay;
  }
  EXPECT_EQ(result.value().replay_checks.back().replay, 6);
  EXPECT_EQ(result.value().replay_checks.back().layer, 1);
}

TEST_F(CudaBackendTest, ASecondRunOfTheSameRequestGivesTheSameNumbers) {
  const RunRequest request = small_request(Scaling::Block);
  const auto first = run(request);
  RunRequest other = request;
  other.seed = 99;
  const auto between = run(other);
  const auto second = run(request);
  ASSERT_TRUE(first.ok() && between.ok() && second.ok());
  // Blocks add their sums of squares in the order in which they finish.
  EXPECT_DOUBLE_EQ(first.value().experts[0].fprop.snr_db, second.value().experts[0].fprop.snr_db);
  EXPECT_NE(first.value().experts[0].fprop.snr_db, between.value().experts[0].fprop.snr_db);
}

TEST_F(CudaBackendTest, DeviationsSayWhatWasChangedAndWhy) {
  RunRequest request = small_request(Scaling::Block);
  request.recipe.split_accumulator = false;
  request.activations = SyntheticInput{.element = ElementType::Fp32};
  const auto result = run(request);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result.value().effective.recipe.split_accumulator);
  ASSERT_EQ(result.value().deviations.size(), 2U);
  EXPECT_EQ(result.value().deviations[0].field, "recipe.split_accumulator");
  EXPECT_EQ(result.value().deviations[1].field, "activations");
  EXPECT_EQ(result.value().deviations[1].requested, "FP32");
  EXPECT_EQ(result.value().deviations[1].effective, "BF16");
}

TEST_F(CudaBackendTest, NoTokensIsAValidRun) {
  RunRequest request = small_request(Scaling::Block);
  request.shape.rows = 0;
  const auto result = run(request);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(std::isnan(result.value().experts[0].fprop.snr_db));
}

TEST_F(CudaBackendTest, RefusesRunsThatDoNotFitTheDeviceWithBothNumbers) {
  RunRequest request = small_request(Scaling::None);
  request.shape.rows = kMaxDimension;
  request.shape.k = 65536;
  const auto result = run(request);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::OutOfMemory);
  EXPECT_THAT(
      result.error().message,
      ::testing::ContainsRegex("needs .*GiB, but only .*GiB of device memory are available"));
}

TEST_F(CudaBackendTest, RefusesWithTheGatesSentence) {
  RunRequest request = small_request(Scaling::Block);
  request.recipe.activation_format = Fp8Format::E5m2;
  const auto result = run(request);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(result.error().message, HasSubstr("E5M2"));
}

TEST_F(CudaBackendTest, ACancelledRunEndsAndTheNextOneWorks) {
  RunRequest request = small_request(Scaling::None);
  progress_.cancel = true;
  const auto cancelled = run(request);
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, ErrorCode::Cancelled);
  progress_.cancel = false;
  EXPECT_TRUE(run(request).ok());
}

TEST(CudaBackendSlot, SaysWhyThereIsNone) {
  if (find_device().ok()) GTEST_SKIP() << "this machine has a device";
  const BackendSlot slot = make_cuda_backend("");
  EXPECT_EQ(slot.kind, GemmBackend::CublasLtGrouped);
  EXPECT_EQ(slot.backend, nullptr);
  EXPECT_THAT(slot.reason,
              ::testing::AnyOf(HasSubstr("no CUDA driver"), HasSubstr("no CUDA device"),
                               HasSubstr("compute capability")));
}

}  // namespace
}  // namespace engine
