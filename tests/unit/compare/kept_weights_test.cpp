// From how many micro-batches on quantized weights pay: when two runs tell, and what.
#include "profiling/compare/kept_weights.h"

#include <gtest/gtest.h>

#include <functional>

namespace {

using engine::Scaling;
using profiling::kept_weights;
using profiling::KeptWeights;
using profiling::RecordedRun;

/// 24 iterations: every `micro_batches`-th takes `first`, the others `other` and up to 3 ns more.
RecordedRun run_of(Scaling scaling, int micro_batches, std::int64_t first, std::int64_t other) {
  RecordedRun run;
  run.request.step = engine::StepKind::ExpertLayer;
  run.request.recipe.scaling = scaling;
  run.request.products.weight_reuse = micro_batches;
  run.result.effective = run.request;
  run.result.splits = {3, 5};
  run.result.device.name = "a device";
  for (int i = 0; i < 24; ++i) {
    run.result.iterations.push_back(
        {.start_ns = i, .duration_ns = (i % micro_batches == 0 ? first : other) + i % 4});
  }
  return run;
}

const RecordedRun kPlain = run_of(Scaling::None, 1, 1000, 1000);

TEST(KeptWeights, IterationsByTheirNumberSayFromWhenItPays) {
  const RecordedRun fp8 = run_of(Scaling::Block, 3, 1250, 900);
  const std::optional<KeptWeights> kept = kept_weights({&kPlain}, {&fp8});
  ASSERT_TRUE(kept);
  EXPECT_TRUE(kept->b_quantizes);
  EXPECT_EQ(kept->n_quantizing, 8U);
  EXPECT_EQ(kept->n_keeping, 16U);
  EXPECT_EQ(kept->n_plain, 24U);
  EXPECT_NEAR(kept->medians.quantizing, 1251.5, 1.5);
  EXPECT_NEAR(kept->medians.keeping, 901.5, 1.5);
  EXPECT_NEAR(kept->medians.plain, 1001.5, 1.5);
  EXPECT_EQ(kept->from, 4);  // (1250 + 3 * 900) / 4 = 987.5; of three 1016.7
  ASSERT_TRUE(kept->interval_known);
  EXPECT_EQ(kept->from_at_best, 4);
  EXPECT_EQ(kept->from_at_worst, 4);
}

TEST(KeptWeights, TheSidesMayBeTheOtherWayRoundAndHaveBlocks) {
  const RecordedRun fp8 = run_of(Scaling::Block, 5, 1250, 900);
  const std::optional<KeptWeights> kept = kept_weights({&fp8, &fp8}, {&kPlain, &kPlain});
  ASSERT_TRUE(kept);
  EXPECT_FALSE(kept->b_quantizes);
  // The count begins anew with each block: 0, 5, .. 20.
  EXPECT_EQ(kept->n_quantizing, 10U);
  EXPECT_NEAR(kept->medians.quantizing, 1251.5, 1.5);
  EXPECT_EQ(kept->from, 4);
}

TEST(KeptWeights, WhereItNeverPaysThatIsSaid) {
  const RecordedRun fp8 = run_of(Scaling::Block, 2, 1250, 1100);
  const std::optional<KeptWeights> kept = kept_weights({&kPlain}, {&fp8});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->from, std::nullopt);
  EXPECT_EQ(kept->from_at_best, std::nullopt);
}

TEST(KeptWeights, TheIntervalsSayWhenItIsNotDecided) {
  const RecordedRun fp8 = run_of(Scaling::Block, 2, 1250, 999);
  const std::optional<KeptWeights> kept = kept_weights({&kPlain}, {&fp8});
  ASSERT_TRUE(kept);
  EXPECT_TRUE(kept->interval_known);
  EXPECT_EQ(kept->from_at_worst, std::nullopt);
  EXPECT_NE(kept->from_at_best, std::nullopt);
  RecordedRun few = fp8;
  few.result.iterations.resize(6);
  const std::optional<KeptWeights> unknown = kept_weights({&kPlain}, {&few});
  ASSERT_TRUE(unknown);
  EXPECT_FALSE(unknown->interval_known);
}

TEST(KeptWeights, NothingIsSaidWhereItIsNotKnown) {
  const RecordedRun fp8 = run_of(Scaling::Block, 3, 1250, 900);
  ASSERT_TRUE(kept_weights({&kPlain}, {&fp8}));
  const RecordedRun once = run_of(Scaling::Block, 1, 1250, 900);
  EXPECT_FALSE(kept_weights({&kPlain}, {&once}));
  EXPECT_FALSE(kept_weights({&fp8}, {&fp8}));
  EXPECT_FALSE(kept_weights({&kPlain}, {&kPlain}));
  const RecordedRun all_quantize = run_of(Scaling::Block, 24, 1250, 900);
  RecordedRun first_only = all_quantize;
  first_only.result.iterations.resize(1);
  EXPECT_FALSE(kept_weights({&kPlain}, {&first_only}));
  // One recipe of the two projections quantizes.
  RecordedRun mixed = kPlain;
  mixed.request.expert_layer.mixed_recipes = true;
  mixed.request.expert_layer.down_scaling = Scaling::Block;
  mixed.request.products.weight_reuse = 3;
  mixed.result.effective = mixed.request;
  EXPECT_TRUE(kept_weights({&kPlain}, {&mixed}));
  // How it was measured, and what follows from the recipe.
  RecordedRun other_numbers = fp8;
  other_numbers.request.launch.iterations += 1;
  other_numbers.request.measure.ceilings = true;
  other_numbers.result.effective.expert_layer.fused_activation = false;
  EXPECT_TRUE(kept_weights({&kPlain}, {&other_numbers}));
  using Change = std::function<void(RecordedRun&)>;
  const std::vector<Change> changes = {
      [](RecordedRun& run) { run.request.step = engine::StepKind::Linear; },
      [](RecordedRun& run) { run.request.shape.k *= 2; },
      [](RecordedRun& run) { run.request.layers = 2; },
      [](RecordedRun& run) { run.request.products.passes = engine::StepPasses::ForwardBackward; },
      [](RecordedRun& run) { run.request.products.accumulate_wgrad = true; },
      [](RecordedRun& run) { run.request.expert_layer.recompute_activation = true; },
      [](RecordedRun& run) { run.request.try_algorithms = false; },
      [](RecordedRun& run) {
        run.request.weights = engine::SyntheticInput{.element = engine::ElementType::Fp16};
      },
      [](RecordedRun& run) { run.request.launch.kind = engine::LaunchKind::GraphReplay; },
      [](RecordedRun& run) { run.request.measure.cache = engine::CacheMode::Cold; },
      [](RecordedRun& run) {
        run.result.effective.backend = engine::GemmBackend::CublasLtPerExpert;
      },
      [](RecordedRun& run) { run.result.splits = {4, 4}; },
      [](RecordedRun& run) {
        run.result.recorded_routing.emplace();
        run.result.recorded_routing->steps.resize(2);
      },
      [](RecordedRun& run) { run.result.device.name = "another device"; }};
  for (const Change& change : changes) {
    RecordedRun other = kPlain;
    change(other);
    EXPECT_FALSE(kept_weights({&other}, {&fp8})) << &change - changes.data();
  }
}

}  // namespace
