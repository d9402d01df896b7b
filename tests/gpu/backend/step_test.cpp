// The device step against the host reference, and replays against eager launches.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/gpu/backend/step_fixture.h"

namespace engine::testing {
namespace {

using ::testing::HasSubstr;

struct NamedRecipe {
  const char* name;
  Recipe recipe;
};

void PrintTo(const NamedRecipe& named, std::ostream* out) { *out << named.name; }

const NamedRecipe kRecipes[] = {
    {"bf16", {.scaling = Scaling::None}},
    {"tensor_e4m3", {.scaling = Scaling::PerTensorCurrent, .pow2_scales = false}},
    {"tensor_e4m3_pow2", {.scaling = Scaling::PerTensorCurrent}},
    {"tensor_e5m2", {.scaling = Scaling::PerTensorCurrent, .activation_format = Fp8Format::E5m2}},
    {"tensor_fast", {.scaling = Scaling::PerTensorCurrent, .split_accumulator = false}},
    {"block_pow2", {.scaling = Scaling::Block}},
    {"block_fp32_scales", {.scaling = Scaling::Block, .pow2_scales = false}},
};

class EveryRecipe : public StepFixture, public ::testing::WithParamInterface<NamedRecipe> {
 protected:
  void SetUp() override {
    StepFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (const std::string sentence = refusal(GetParam().recipe); !sentence.empty()) {
      GTEST_SKIP() << sentence;
    }
  }

  void expect_host_product(const std::vector<std::int64_t>& splits) {
    const StepConfig& config = step_->config();
    for (std::size_t layer = 0; layer < w_.size(); ++layer) {
      const auto got = output(layer);
      ASSERT_TRUE(got.ok()) << got.error().message;
      const std::vector<double> want = host_product(config, splits, x_, w_[layer]);
      // BF16 rounds to 2^-8; FP8 tensor cores keep about 14 bits of a partial sum.
      double rms = 0.0;
      for (const double value : want) rms += value * value;
      rms = std::sqrt(rms / static_cast<double>(std::max<std::size_t>(want.size(), 1)));
      const double absolute = config.fp8() ? 0.03 * rms : 0.004 * rms;
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < want.size(); ++i) {
        const double error = std::abs(double{bf16_to_float(got.value()[i])} - want[i]);
        // Not "error > limit": a poisoned NaN must count.
        if (!(error <= absolute + 0.016 * std::abs(want[i]))) ++wrong;
      }
      EXPECT_EQ(wrong, 0U) << "of " << want.size() << " values, layer " << layer;
      const auto rows = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
      const auto untouched = std::all_of(got.value().begin() + rows * config.n, got.value().end(),
                                         [](std::uint16_t bits) { return bits == 0xFFFF; });
      EXPECT_TRUE(untouched) << "rows behind the last group were written";
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Step, EveryRecipe, ::testing::ValuesIn(kRecipes),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(EveryRecipe, MatchesTheHostOnUnevenUnalignedAndEmptyGroups) {
  const Status made = make({.num_groups = 4,
                            .capacity_rows = 384,
                            .n = 256,
                            .k = 512,
                            .layers = 1,
                            .recipe = GetParam().recipe});
  ASSERT_TRUE(made.ok()) << made.error().message;
  for (const std::vector<std::int64_t>& splits :
       {std::vector<std::int64_t>{96, 96, 96, 96}, std::vector<std::int64_t>{101, 0, 37, 118},
        std::vector<std::int64_t>{0, 0, 0, 384}, std::vector<std::int64_t>{1, 130, 0, 0},
        std::vector<std::int64_t>{0, 0, 0, 0}}) {
    SCOPED_TRACE(::testing::PrintToString(splits));
    const auto sums = eager_checksums(splits);
    ASSERT_TRUE(sums.ok()) << sums.error().message;
    expect_host_product(splits);
  }
  EXPECT_TRUE(step_->check_splits(stream_.get()).ok());
}

TEST_P(EveryRecipe, MatchesTheHostWhereTheLastScaleBlocksArePartial) {
  const Status made = make({.num_groups = 3,
                            .capacity_rows = 200,
                            .n = 144,
                            .k = 336,
                            .layers = 1,
                            .recipe = GetParam().recipe});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const std::vector<std::int64_t> splits = {67, 5, 128};
  const auto sums = eager_checksums(splits);
  ASSERT_TRUE(sums.ok()) << sums.error().message;
  expect_host_product(splits);
}

TEST_P(EveryRecipe, ReplaysFollowSplitsWrittenBetweenThemBitForBit) {
  for (const WorkspaceStrategy workspace :
       {WorkspaceStrategy::PerMatmul, WorkspaceStrategy::Shared}) {
    RunRequest request;
    request.recipe = GetParam().recipe;
    request.backend = GemmBackend::CublasLtGrouped;
    request.launch.kind = LaunchKind::GraphReplay;
    request.layers = 2;
    // Where sharing is known to go wrong there is nothing to promise.
    if (workspace_support(workspace, request, capability_).support != Support::Supported) continue;
    const Status made = make({.num_groups = 4,
                              .capacity_rows = 512,
                              .n = 256,
                              .k = 256,
                              .layers = 2,
                              .recipe = GetParam().recipe,
                              .workspace = workspace});
    ASSERT_TRUE(made.ok()) << made.error().message;
    const std::vector<std::vector<std::int64_t>> routings = {
        {128, 128, 128, 128}, {0, 200, 12, 300}, {511, 0, 0, 1},
        {128, 128, 128, 128}, {0, 0, 0, 0},      {33, 65, 129, 285}};
    std::vector<std::vector<std::uint64_t>> eager;
    for (const auto& splits : routings) {
      const auto sums = eager_checksums(splits);
      ASSERT_TRUE(sums.ok()) << sums.error().message;
      eager.push_back(sums.value());
    }
    const auto graph =
        capture(stream_.get(), [&] { return step_->launch(stream_.get(), observer_); });
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const auto exec = instantiate(graph.value());
    ASSERT_TRUE(exec.ok()) << exec.error().message;
    for (std::size_t replay = 0; replay < routings.size(); ++replay) {
      ASSERT_TRUE(step_->write_splits(routings[replay], stream_.get()).ok());
      ASSERT_TRUE(check_.poison(*step_, stream_.get()).ok());
      ASSERT_EQ(cudaGraphLaunch(exec.value().get(), stream_.get()), cudaSuccess);
      const auto sums = check_.checksums(*step_, stream_.get());
      ASSERT_TRUE(sums.ok()) << sums.error().message;
      EXPECT_EQ(sums.value(), eager[replay])
          << "replay " << replay + 1 << " of workspace strategy " << static_cast<int>(workspace);
    }
  }
}

TEST(CompareChecksums, NamesLayerAndExpertOfEveryDifference) {
  const std::vector<std::uint64_t> eager = {1, 2, 3, 4, 5, 6};
  const std::vector<std::uint64_t> replay = {1, 2, 3, 9, 5, 0};
  const std::vector<ReplayCheck> checks = compare_checksums(2, eager, replay, 3);
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_THAT(checks[0].wrong_experts, ::testing::IsEmpty());
  EXPECT_EQ(checks[1].layer, 1);
  EXPECT_EQ(checks[1].replay, 2);
  EXPECT_THAT(checks[1].wrong_experts, ::testing::ElementsAre(0, 2));
}

class Step : public StepFixture {};

TEST_F(Step, ChecksumsSeeAChangedGroup) {
  const Status made = make({.num_groups = 2,
                            .capacity_rows = 64,
                            .n = 64,
                            .k = 64,
                            .recipe = {.scaling = Scaling::None}});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto before = eager_checksums({40, 24});
  ASSERT_TRUE(before.ok()) << before.error().message;
  // One bit of one value in the second group.
  std::uint16_t value = 0;
  std::byte* const address = step_->buffers().layers[0].output.data() + 2 * (40 * 64 + 5);
  ASSERT_TRUE(copy_to_host(std::span<std::uint16_t>(&value, 1), address, stream_.get()).ok());
  value ^= 1;
  ASSERT_TRUE(
      copy_to_device(address, std::span<const std::uint16_t>(&value, 1), stream_.get()).ok());
  const auto after = check_.checksums(*step_, stream_.get());
  ASSERT_TRUE(after.ok()) << after.error().message;
  const std::vector<ReplayCheck> checks = compare_checksums(3, before.value(), after.value(), 2);
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks[0].replay, 3);
  EXPECT_THAT(checks[0].wrong_experts, ::testing::ElementsAre(1));
}

TEST_F(Step, SplitsThatDoNotFitAreReportedAndStayInTheirBuffers) {
  const Status made = make({.num_groups = 2,
                            .capacity_rows = 64,
                            .n = 64,
                            .k = 64,
                            .recipe = {.scaling = Scaling::None}});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto sums = eager_checksums({60, 60});
  ASSERT_TRUE(sums.ok()) << sums.error().message;
  const Status above = step_->check_splits(stream_.get());
  ASSERT_FALSE(above.ok());
  EXPECT_EQ(above.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(above.error().message, HasSubstr("above the capacity"));
  EXPECT_THAT(above.error().message, HasSubstr("64"));

  const auto negative = eager_checksums({-1, 10});
  ASSERT_TRUE(negative.ok()) << negative.error().message;
  const Status both = step_->check_splits(stream_.get());
  ASSERT_FALSE(both.ok());
  EXPECT_THAT(both.error().message, HasSubstr("negative"));
}

}  // namespace
}  // namespace engine::testing
