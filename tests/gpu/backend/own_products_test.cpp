// Steps whose products are our own kernels': against the host reference, against cuBLASLt's, and
// replayed with new splits.
#include <map>

#include "engine/linear/step_measurements.h"
#include "engine/linear/workspaces.h"
#include "tests/gpu/backend/step_recipes.h"

namespace engine::testing {
namespace {

constexpr GemmBackend kOwn = GemmBackend::Expertscope;

const NamedRecipe kLines[] = {
    {"pow2", {.scaling = Scaling::Block}},
    {"fp32_scales", {.scaling = Scaling::Block, .pow2_scales = false}},
    {"e5m2_gradients", {.scaling = Scaling::Block, .gradient_format = Fp8Format::E5m2}},
    {"e5m2_everywhere",
     {.scaling = Scaling::Block,
      .activation_format = Fp8Format::E5m2,
      .gradient_format = Fp8Format::E5m2}},
};

class OwnProducts : public StepFixture, public ::testing::WithParamInterface<NamedRecipe> {
 protected:
  void SetUp() override {
    StepFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const std::string sentence = refusal(GetParam().recipe, both_passes(), kOwn);
    if (!sentence.empty()) GTEST_SKIP() << sentence;
  }

  SmallStep step(GemmBackend backend, ProductOptions products = both_passes()) const {
    return {.num_groups = 4,
            .capacity_rows = 384,
            .n = 256,
            .k = 400,
            .recipe = GetParam().recipe,
            .products = products,
            .backend = backend};
  }
};

INSTANTIATE_TEST_SUITE_P(Step, OwnProducts, ::testing::ValuesIn(kLines),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(OwnProducts, MatchesTheHostOnUnevenUnalignedAndEmptyGroups) {
  for (const ElementType type : {ElementType::Bf16, ElementType::Fp32}) {
    ProductOptions products = both_passes();
    products.wgrad_type = type;
    const Status made = make(step(kOwn, products));
    ASSERT_TRUE(made.ok()) << made.error().message;
    for (const std::vector<std::int64_t>& splits :
         {std::vector<std::int64_t>{96, 96, 96, 96}, std::vector<std::int64_t>{101, 0, 37, 118},
          std::vector<std::int64_t>{0, 0, 0, 384}, std::vector<std::int64_t>{1, 130, 0, 0},
          std::vector<std::int64_t>{0, 0, 0, 0}}) {
      SCOPED_TRACE(::testing::PrintToString(splits));
      const auto sums = eager_checksums(splits);
      ASSERT_TRUE(sums.ok()) << sums.error().message;
      expect_host_products(splits);
    }
  }
}

TEST_P(OwnProducts, ReplaysFollowSplitsWrittenBetweenThemBitForBit) {
  SmallStep small = step(kOwn);
  small.layers = 2;
  ASSERT_TRUE(make(small).ok());
  const std::vector<std::vector<std::int64_t>> routings = {
      {96, 96, 96, 96}, {0, 200, 12, 172}, {383, 0, 0, 1}, {0, 0, 0, 0}, {33, 65, 129, 157}};
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
    EXPECT_EQ(sums.value(), eager[replay]) << "replay " << replay + 1;
  }
}

TEST_P(OwnProducts, StampsGiveTheTimeOfEveryExpertInsideTheLaunch) {
  ASSERT_TRUE(make(step(kOwn)).ok());
  ASSERT_TRUE(eager_checksums({101, 7, 37, 118}).ok());
  const auto timings = time_experts_by_stamps(*step_, stream_.get());
  ASSERT_TRUE(timings.ok()) << timings.error().message;
  std::map<Stage, int> timed;
  for (const ExpertTiming& timing : timings.value()) {
    ++timed[timing.stage];
    EXPECT_GT(timing.median_ns, 0.0);
  }
  for (const Stage stage : {Stage::Fprop, Stage::Dgrad, Stage::Wgrad}) EXPECT_EQ(timed[stage], 4);
}

TEST_P(OwnProducts, HaveNoWorkspace) {
  SmallStep small = step(kOwn);
  ASSERT_TRUE(make(small).ok());
  for (const WorkspaceStrategy strategy :
       {WorkspaceStrategy::PerMatmul, WorkspaceStrategy::Shared, WorkspaceStrategy::PerCall}) {
    small.workspace = strategy;
    ASSERT_TRUE(make(small).ok());
    EXPECT_EQ(Workspaces::bytes(step_->config()), 0);
    ASSERT_TRUE(eager_checksums({101, 7, 37, 118}).ok());
    expect_host_products({101, 7, 37, 118});
  }
}

}  // namespace
}  // namespace engine::testing
