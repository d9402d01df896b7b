// Steps whose products are our own kernels': against the host reference, against cuBLASLt's, and
// replayed with new splits.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/linear/stamped_launches.h"
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
  static int multiprocessors() {
    int device = 0;
    int count = 0;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), cudaSuccess);
    return count;
  }

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
  const auto stamped = stamp_launches(*step_, multiprocessors(), stream_.get());
  ASSERT_TRUE(stamped.ok()) << stamped.error().message;
  std::map<Stage, int> timed;
  for (const ExpertTiming& timing : stamped.value().experts) {
    ++timed[timing.stage];
    EXPECT_GT(timing.median_ns, 0.0);
  }
  for (const Stage stage : {Stage::Fprop, Stage::Dgrad, Stage::Wgrad}) EXPECT_EQ(timed[stage], 4);
}

TEST_P(OwnProducts, TilesOfALaunchSayWhenAndWhereTheyRan) {
  ASSERT_TRUE(make(step(kOwn)).ok());
  const std::vector<std::int64_t> splits = {101, 0, 37, 118};
  ASSERT_TRUE(eager_checksums(splits).ok());
  const int sms = multiprocessors();
  const auto stamped = stamp_launches(*step_, sms, stream_.get());
  ASSERT_TRUE(stamped.ok()) << stamped.error().message;
  std::set<Stage> stages;
  for (const TiledLaunch& launch : stamped.value().launches) {
    SCOPED_TRACE(stage_name(launch.stage));
    EXPECT_TRUE(stages.insert(launch.stage).second);
    EXPECT_TRUE(is_known(launch.writes));
    EXPECT_EQ(launch.multiprocessors, sms) << "no tile is on another";
    EXPECT_EQ(std::ssize(launch.kept), launch.tiles);
    EXPECT_GT(launch.duration_ns, 0);
    EXPECT_GT(launch.busy_share, 0.0);
    EXPECT_GE(launch.imbalance, 1.0);
    // A tile of a product holds its multiprocessor alone.
    if (launch.stage != Stage::Quantize) {
      EXPECT_EQ(launch.tiles_at_once, 1);
    }
    // Every tile of dW has a stamp; of the others, those of the rows that there are.
    if (launch.stage == Stage::Wgrad) {
      EXPECT_EQ(launch.tiles, step_->stamped_tiles(Product::Wgrad));
    }
    std::map<int, std::pair<std::int64_t, std::int64_t>> spans;  // of the experts
    for (const LaunchTile& tile : launch.kept) {
      EXPECT_GE(tile.multiprocessor, 0);
      EXPECT_GE(tile.begin_ns, 0);
      EXPECT_GE(tile.end_ns, tile.begin_ns);
      EXPECT_LE(tile.end_ns, launch.duration_ns);
      auto& span = spans.try_emplace(tile.expert, tile.begin_ns, tile.end_ns).first->second;
      span = {std::min(span.first, tile.begin_ns), std::max(span.second, tile.end_ns)};
    }
    for (std::size_t expert = 0; expert < splits.size(); ++expert) {
      // dW of an expert without rows is written too: zeros.
      const bool tiles = splits[expert] > 0 || launch.stage == Stage::Wgrad;
      EXPECT_EQ(spans.contains(static_cast<int>(expert)), tiles) << "expert " << expert;
    }
  }
  EXPECT_EQ(stages, (std::set{Stage::Quantize, Stage::Fprop, Stage::Dgrad, Stage::Wgrad}));
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
