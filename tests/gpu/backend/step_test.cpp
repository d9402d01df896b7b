// The device step against the host reference, and replays against eager launches.
#include <gmock/gmock.h>

#include "engine/device/device_facts.h"
#include "tests/gpu/backend/step_recipes.h"

namespace engine::testing {
namespace {

using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Step, EveryRecipe, ::testing::ValuesIn(kRecipes),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(EveryRecipe, MatchesTheHostOnUnevenUnalignedAndEmptyGroups) {
  const Status made = make({.num_groups = 4,
                            .capacity_rows = 384,
                            .n = 256,
                            .k = 384,
                            .layers = 1,
                            .recipe = GetParam().recipe,
                            .products = both_passes()});
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
  EXPECT_TRUE(step_->check_splits(stream_.get()).ok());
}

TEST_P(EveryRecipe, MatchesTheHostWhereTheLastScaleBlocksArePartial) {
  const Status made = make({.num_groups = 3,
                            .capacity_rows = 200,
                            .n = 144,
                            .k = 336,
                            .layers = 1,
                            .recipe = GetParam().recipe,
                            .products = both_passes()});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const std::vector<std::int64_t> splits = {67, 5, 128};
  const auto sums = eager_checksums(splits);
  ASSERT_TRUE(sums.ok()) << sums.error().message;
  expect_host_products(splits);
}

TEST_P(EveryRecipe, TriedAlgorithmsStillMatchTheHost) {
  const Status made = make({.num_groups = 3,
                            .capacity_rows = 512,
                            .n = 256,
                            .k = 256,
                            .recipe = GetParam().recipe,
                            .products = both_passes()});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const std::vector<std::int64_t> splits = {130, 0, 300};
  ASSERT_TRUE(eager_checksums(splits).ok());
  const auto trials = step_->try_candidates(stream_.get());
  ASSERT_TRUE(trials.ok()) << trials.error().message;
  ASSERT_EQ(trials.value().size(), 3U);
  for (const ProductTrial& one : trials.value()) {
    EXPECT_GE(one.trial.candidates, 1);
    EXPECT_LE(one.trial.chosen_us, one.trial.first_us);
  }
  ASSERT_TRUE(eager_checksums(splits).ok());
  expect_host_products(splits);
}

TEST_P(EveryRecipe, AlgorithmsAreTriedForEachRoutingAndRemembered) {
  const Status made = make({.num_groups = 3,
                            .capacity_rows = 512,
                            .n = 256,
                            .k = 256,
                            .recipe = GetParam().recipe,
                            .products = both_passes()});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto first_us = [&](const std::vector<std::int64_t>& splits) {
    EXPECT_TRUE(eager_checksums(splits).ok());
    const auto trials = step_->try_candidates(stream_.get());
    EXPECT_TRUE(trials.ok()) << trials.error().message;
    std::vector<float> times;
    for (const ProductTrial& one : trials.value()) times.push_back(one.trial.first_us);
    return times;
  };
  // A remembered trial has exactly the times of the first one; three medians of a new trial would
  // not match them bit for bit.
  const std::vector<float> even = first_us({170, 171, 171});
  EXPECT_NE(first_us({510, 1, 1}), even);
  EXPECT_EQ(first_us({170, 171, 171}), even);
}

struct Strategy {
  WorkspaceStrategy workspace;
  SetupArrays arrays;
};

TEST_P(EveryRecipe, ReplaysFollowSplitsWrittenBetweenThemBitForBit) {
  for (const Strategy& strategy : {Strategy{WorkspaceStrategy::PerMatmul, SetupArrays::PerMatmul},
                                   Strategy{WorkspaceStrategy::PerMatmul, SetupArrays::Shared},
                                   Strategy{WorkspaceStrategy::PerLayout, SetupArrays::PerMatmul},
                                   Strategy{WorkspaceStrategy::Shared, SetupArrays::Shared},
                                   Strategy{WorkspaceStrategy::PerCall, SetupArrays::PerMatmul}}) {
    SCOPED_TRACE("workspace strategy " + std::to_string(static_cast<int>(strategy.workspace)) +
                 ", set-up arrays " + std::to_string(static_cast<int>(strategy.arrays)));
    RunRequest request;
    request.recipe = GetParam().recipe;
    request.products = both_passes();
    request.backend = GemmBackend::CublasLtGrouped;
    request.launch.kind = LaunchKind::GraphReplay;
    request.layers = 2;
    // Where sharing is known to fail, results are undefined.
    if (workspace_support(strategy.workspace, request, capability_).support != Support::Supported) {
      continue;
    }
    const Status made = make({.num_groups = 4,
                              .capacity_rows = 512,
                              .n = 256,
                              .k = 256,
                              .layers = 2,
                              .recipe = GetParam().recipe,
                              .products = both_passes(),
                              .workspace = strategy.workspace,
                              .setup_arrays = strategy.arrays});
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
    const auto facts = count_nodes(graph.value().get());
    ASSERT_TRUE(facts.ok()) << facts.error().message;
    EXPECT_EQ(facts.value().host_calls, 0);
    EXPECT_EQ(facts.value().copies, 0);
    const bool per_call = strategy.workspace == WorkspaceStrategy::PerCall;
    EXPECT_EQ(facts.value().allocations, per_call ? 12 : 0);  // six products
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
}

TEST_P(EveryRecipe, PerExpertBackendMatchesTheHost) {
  const std::string sentence =
      refusal(GetParam().recipe, both_passes(), GemmBackend::CublasLtPerExpert);
  if (!sentence.empty()) GTEST_SKIP() << sentence;
  const std::vector<std::int64_t> splits = {96, 0, 16, 208};
  const Status made = make({.num_groups = 4,
                            .capacity_rows = 384,
                            .n = 256,
                            .k = 384,
                            .recipe = GetParam().recipe,
                            .products = both_passes(),
                            .backend = GemmBackend::CublasLtPerExpert,
                            .streams = 3,
                            .host_splits = splits});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto eager = eager_checksums(splits);
  ASSERT_TRUE(eager.ok()) << eager.error().message;
  expect_host_products(splits);
  const auto graph =
      capture(stream_.get(), [&] { return step_->launch(stream_.get(), observer_); });
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto exec = instantiate(graph.value());
  ASSERT_TRUE(exec.ok()) << exec.error().message;
  for (int replay = 1; replay <= 3; ++replay) {
    ASSERT_TRUE(check_.poison(*step_, stream_.get()).ok());
    ASSERT_EQ(cudaGraphLaunch(exec.value().get(), stream_.get()), cudaSuccess);
    const auto sums = check_.checksums(*step_, stream_.get());
    ASSERT_TRUE(sums.ok()) << sums.error().message;
    EXPECT_EQ(sums.value(), eager.value()) << "replay " << replay;
  }
}

TEST(CompareChecksums, NamesLayerAndExpertOfEveryDifference) {
  const std::vector<std::uint64_t> eager = {1, 2, 3, 4, 5, 6};
  const std::vector<std::uint64_t> replay = {1, 2, 3, 9, 5, 0};
  const std::vector<StepOutput> outputs = {{.product = Product::Fprop, .layer = 0},
                                           {.product = Product::Wgrad, .layer = 1}};
  const std::vector<ReplayCheck> checks = compare_checksums(2, outputs, eager, replay);
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_THAT(checks[0].wrong_experts, ::testing::IsEmpty());
  EXPECT_EQ(checks[1].layer, 1);
  EXPECT_EQ(checks[1].product, Product::Wgrad);
  EXPECT_EQ(checks[1].replay, 2);
  EXPECT_THAT(checks[1].wrong_experts, ::testing::ElementsAre(0, 2));
}

class Step : public StepFixture {
 protected:
  StepConfig small(const Recipe& recipe, const ProductOptions& products) const {
    return SmallStep{.num_groups = 3,
                     .capacity_rows = 256,
                     .n = 128,
                     .k = 256,
                     .recipe = recipe,
                     .products = products}
        .config();
  }
  const std::vector<std::int64_t> splits_ = {130, 0, 77};
  const Recipe recipes_[3] = {{.scaling = Scaling::None},
                              {.scaling = Scaling::PerTensorCurrent},
                              {.scaling = Scaling::Block}};
};

TEST_F(Step, BiasIsAddedAndItsGradientSummed) {
  for (const Recipe& recipe : recipes_) {
    ProductOptions products = both_passes();
    products.bias = true;
    const Status made = make(small(recipe, products));
    ASSERT_TRUE(made.ok()) << made.error().message;
    ASSERT_TRUE(eager_checksums(splits_).ok());
    expect_host_products(splits_);
    std::vector<std::uint16_t> got(3 * 128);
    ASSERT_TRUE(
        copy_to_host(std::span<std::uint16_t>(got), step_->outputs(0).bias_gradient, stream_.get())
            .ok());
    std::size_t row = 0;
    for (std::size_t group = 0; group < 3; ++group) {
      std::vector<double> sums(128, 0.0);
      for (std::int64_t i = 0; i < splits_[group]; ++i, ++row) {
        for (std::size_t column = 0; column < 128; ++column) {
          sums[column] += bf16_to_float(host_.dy[row * 128 + column]);
        }
      }
      for (std::size_t column = 0; column < 128; ++column) {
        EXPECT_NEAR(bf16_to_float(got[group * 128 + column]), sums[column],
                    0.005 * std::abs(sums[column]) + 1e-4)
            << "expert " << group << ", column " << column;
      }
    }
  }
}

TEST_F(Step, WgradAccumulatesInFp32) {
  for (const Recipe& recipe : recipes_) {
    ProductOptions products = both_passes();
    products.wgrad_type = ElementType::Fp32;
    products.accumulate_wgrad = true;
    const Status made = make(small(recipe, products));
    ASSERT_TRUE(made.ok()) << made.error().message;
    ASSERT_TRUE(eager_checksums(splits_).ok());
    expect_host_products(splits_);
    const StepOutput dw = step_->all_outputs().back();
    const auto once = numbers(dw);
    ASSERT_TRUE(once.ok());
    ASSERT_TRUE(step_->launch(stream_.get(), observer_).ok());
    const auto twice = numbers(dw);
    ASSERT_TRUE(twice.ok());
    for (std::size_t i = 0; i < once.value().size(); ++i) {
      ASSERT_NEAR(twice.value()[i], 2.0F * once.value()[i],
                  1e-5F + 1e-5F * std::abs(once.value()[i]))
          << "element " << i;
    }
  }
}

TEST_F(Step, DelayedWgradAndListOfWeightsGiveTheSameBits) {
  for (const Recipe& recipe : recipes_) {
    std::vector<std::vector<std::uint64_t>> sums;
    for (const int variant : {0, 1, 2}) {
      ProductOptions products = both_passes();
      products.delayed_wgrad = variant == 1;
      if (variant == 2) products.weight_storage = WeightStorage::List;
      const Status made = make(small(recipe, products));
      ASSERT_TRUE(made.ok()) << made.error().message;
      const auto got = eager_checksums(splits_);
      ASSERT_TRUE(got.ok()) << got.error().message;
      sums.push_back(got.value());
    }
    EXPECT_EQ(sums[0], sums[1]) << "delayed wgrad";
    EXPECT_EQ(sums[0], sums[2]) << "list of weights";
  }
}

TEST_F(Step, BackwardAloneGivesWhatBothPassesGive) {
  for (const Recipe& recipe : recipes_) {
    Status made = make(small(recipe, both_passes()));
    ASSERT_TRUE(made.ok()) << made.error().message;
    const auto all = eager_checksums(splits_);
    ASSERT_TRUE(all.ok());
    made = make(small(recipe, {.passes = StepPasses::Backward}));
    ASSERT_TRUE(made.ok()) << made.error().message;
    ASSERT_TRUE(step_->write_splits(splits_, stream_.get()).ok());
    ASSERT_TRUE(step_->prepare(stream_.get(), observer_).ok());
    const auto backward = eager_checksums(splits_);
    ASSERT_TRUE(backward.ok());
    const std::vector<std::uint64_t> wanted(all.value().begin() + 3, all.value().end());
    EXPECT_EQ(backward.value(), wanted);
  }
}

TEST_F(Step, BackwardAloneFindsOperandsCastWithAHistory) {
  const Recipe recipe{.scaling = Scaling::PerTensorDelayed};
  Status made = make(small(recipe, both_passes()));
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_TRUE(eager_checksums(splits_).ok());
  const auto all = eager_checksums(splits_);  // the history is that of the first step
  ASSERT_TRUE(all.ok());
  made = make(small(recipe, {.passes = StepPasses::Backward}));
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_TRUE(step_->write_splits(splits_, stream_.get()).ok());
  ASSERT_TRUE(step_->prepare(stream_.get(), observer_).ok());
  ASSERT_TRUE(eager_checksums(splits_).ok());
  const auto backward = eager_checksums(splits_);
  ASSERT_TRUE(backward.ok());
  EXPECT_EQ(backward.value(),
            std::vector<std::uint64_t>(all.value().begin() + 3, all.value().end()));
}

TEST_F(Step, KeptWeightsAlsoStayUnchangedInAReplay) {
  ProductOptions products = both_passes();
  products.weight_reuse = 2;
  const Status made = make(small({.scaling = Scaling::Block}, products));
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto before = eager_checksums(splits_);
  ASSERT_TRUE(before.ok());
  const auto graph =
      capture(stream_.get(), [&] { return step_->launch(stream_.get(), observer_); });
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto exec = instantiate(graph.value());
  ASSERT_TRUE(exec.ok());
  // The weights change, their codes must not follow until requested.
  void* const weights = const_cast<void*>(step_->weights(0).input);
  ASSERT_EQ(cudaMemsetAsync(weights, 0, 3 * 128 * 256 * 2, stream_.get()), cudaSuccess);
  for (const bool keep : {true, false}) {
    ASSERT_TRUE(step_->keep_weights(keep, stream_.get()).ok());
    ASSERT_EQ(cudaGraphLaunch(exec.value().get(), stream_.get()), cudaSuccess);
    const auto after = check_.checksums(*step_, stream_.get());
    ASSERT_TRUE(after.ok());
    EXPECT_EQ(after.value() == before.value(), keep);
  }
}

TEST_F(Step, DelayedScalingFollowsItsHistory) {
  const Recipe recipe{.scaling = Scaling::PerTensorDelayed, .gradient_format = Fp8Format::E5m2};
  const Status made = make(small(recipe, both_passes()));
  ASSERT_TRUE(made.ok()) << made.error().message;
  for (int steps = 1; steps <= 3; ++steps) {
    ASSERT_TRUE(eager_checksums(splits_).ok());
    expect_host_products(splits_, steps);
  }
}

TEST_F(Step, ManyExpertsOneHotAndLongRows) {
  struct Shape {
    int groups;
    std::int64_t rows;
    std::int64_t n;
    std::int64_t k;
  };
  for (const Recipe& recipe : recipes_) {
    for (const Shape& shape : {Shape{65, 650, 64, 128}, Shape{256, 1024, 32, 64},
                               Shape{1024, 1100, 16, 32}, Shape{2, 160, 48, 2880}}) {
      SCOPED_TRACE(shape.groups);
      const Status made = make({.num_groups = shape.groups,
                                .capacity_rows = shape.rows,
                                .n = shape.n,
                                .k = shape.k,
                                .recipe = recipe,
                                .products = both_passes()});
      ASSERT_TRUE(made.ok()) << made.error().message;
      std::vector<std::int64_t> splits(static_cast<std::size_t>(shape.groups), 0);
      splits.back() = shape.rows - 3;  // one-hot, on the last
      ASSERT_TRUE(eager_checksums(splits).ok());
      expect_host_products(splits);
      std::int64_t left = shape.rows;
      for (std::size_t e = 0; e < splits.size(); ++e) {
        splits[e] = std::min<std::int64_t>(left, static_cast<std::int64_t>(e % 5) * 2);
        left -= splits[e];
      }
      ASSERT_TRUE(eager_checksums(splits).ok());
      expect_host_products(splits);
    }
  }
}

TEST_F(Step, SharedWorkspaceFailsWhereKnownTo) {
  const bool broken =
      capability_.cublaslt_version >= 130500 && capability_.cublaslt_version < 130600;
  if (!broken) {
    GTEST_SKIP() << "only cuBLASLt 13.5 is certain to corrupt so small a step; "
                 << cublaslt_version_text(capability_.cublaslt_version) << " is loaded";
  }
  for (const WorkspaceStrategy workspace :
       {WorkspaceStrategy::PerMatmul, WorkspaceStrategy::Shared}) {
    const Status made = make({.num_groups = 4,
                              .capacity_rows = 512,
                              .n = 256,
                              .k = 256,
                              .recipe = {.scaling = Scaling::Block},
                              .products = both_passes(),
                              .workspace = workspace});
    ASSERT_TRUE(made.ok()) << made.error().message;
    const auto eager = eager_checksums({128, 128, 128, 128});
    ASSERT_TRUE(eager.ok());
    const auto graph =
        capture(stream_.get(), [&] { return step_->launch(stream_.get(), observer_); });
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const auto exec = instantiate(graph.value());
    ASSERT_TRUE(exec.ok());
    int wrong = 0;
    for (int replay = 1; replay <= 6; ++replay) {
      ASSERT_TRUE(check_.poison(*step_, stream_.get()).ok());
      ASSERT_EQ(cudaGraphLaunch(exec.value().get(), stream_.get()), cudaSuccess);
      const auto sums = check_.checksums(*step_, stream_.get());
      ASSERT_TRUE(sums.ok()) << sums.error().message;
      wrong += sums.value() == eager.value() ? 0 : 1;
    }
    EXPECT_EQ(wrong > 0, workspace == WorkspaceStrategy::Shared) << wrong << " replays";
  }
}

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
  std::byte* const address = static_cast<std::byte*>(step_->outputs(0).y) + 2 * (40 * 64 + 5);
  ASSERT_TRUE(copy_to_host(std::span<std::uint16_t>(&value, 1), address, stream_.get()).ok());
  value ^= 1;
  ASSERT_TRUE(
      copy_to_device(address, std::span<const std::uint16_t>(&value, 1), stream_.get()).ok());
  const auto after = check_.checksums(*step_, stream_.get());
  ASSERT_TRUE(after.ok()) << after.error().message;
  const std::vector<ReplayCheck> checks =
      compare_checksums(3, step_->all_outputs(), before.value(), after.value());
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks[0].replay, 3);
  EXPECT_THAT(checks[0].wrong_experts, ::testing::ElementsAre(1));
}

TEST_F(Step, SplitsThatDoNotFitAreReportedAndStayInBounds) {
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
