// Which settings have an effect in a run, what is reported of those that have none, and which
// requests are the same step. No GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/gemm/on_cpu.h"
#include "engine/gemm/same_step.h"
#include "engine/gemm/support.h"
#include "engine/model/leaves.h"
#include "engine/model/values.h"
#include "tests/unit/gemm/asked.h"

namespace engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ForcedSettings, BlockScalingAlwaysSplitsTheAccumulator) {
  RunRequest request = shared_block_graph();
  request.recipe.split_accumulator = false;
  const ForcedSettings forced = forced_settings(request);
  EXPECT_TRUE(forced.effective.recipe.split_accumulator);
  ASSERT_EQ(forced.deviations.size(), 1U);
  EXPECT_EQ(forced.deviations[0].requested, "off");
  EXPECT_FALSE(forced.deviations[0].reason.empty());

  request.recipe.scaling = Scaling::PerTensorCurrent;
  EXPECT_EQ(forced_settings(request).effective, request);
  EXPECT_THAT(forced_settings(request).deviations, IsEmpty());

  request.programmatic_launch = true;
  request.backend = GemmBackend::CublasLtGrouped;
  EXPECT_THAT(forced_settings(request).deviations, IsEmpty());
  request.backend = GemmBackend::CublasLtPerExpert;
  EXPECT_FALSE(forced_settings(request).effective.programmatic_launch);
  ASSERT_EQ(forced_settings(request).deviations.size(), 1U);
  EXPECT_EQ(forced_settings(request).deviations[0].field, "programmatic_launch");
}

TEST(SettingsOnCpu, AGraphOnADeviceBecomesEagerStepsOnTheCpu) {
  RunRequest request = shared_block_graph();
  request.backend = GemmBackend::CublasLtGrouped;
  const ForcedSettings here = settings_on_cpu(request);
  EXPECT_EQ(here.effective.backend, GemmBackend::CpuReference);
  EXPECT_EQ(here.effective.launch.kind, LaunchKind::Eager);
  ASSERT_GE(here.deviations.size(), 2U);
  EXPECT_EQ(here.deviations[0].field, "backend");
  EXPECT_EQ(here.deviations[1].field, "launch");
  for (const Deviation& one : here.deviations) EXPECT_FALSE(one.reason.empty()) << one.field;
  // What has become of it is nothing to change again.
  EXPECT_THAT(settings_on_cpu(here.effective).deviations, IsEmpty());
  EXPECT_EQ(settings_on_cpu(here.effective).effective, here.effective);
}

RunRequest run_of(Scaling scaling, GemmBackend backend = GemmBackend::CublasLtGrouped) {
  RunRequest request;
  request.recipe = recipe(scaling);
  request.backend = backend;
  return request;
}

/// A value of this leaf that is not its default, as text.
std::string another_value(const Leaf& leaf) {
  const std::string text = text_of(leaf.type, leaf.value);
  if (leaf.type.kind == Kind::Bool) return text == "true" ? "false" : "true";
  if (leaf.type.kind == Kind::Enum) {
    for (const EnumName& name : leaf.type.names) {
      if (name.name != text) return std::string(name.name);
    }
  }
  return text == "3" ? "4" : "3";
}

/// The one deviation of a request; an empty one if there is none.
Deviation only_deviation(const RunRequest& request) {
  const std::vector<Deviation> deviations = forced_settings(request).deviations;
  EXPECT_LE(deviations.size(), 1U);
  return deviations.empty() ? Deviation{} : deviations.front();
}

constexpr Scaling kScalings[] = {Scaling::None,  Scaling::PerTensorCurrent,
                                 Scaling::Block, Scaling::PerTensorDelayed,
                                 Scaling::Mxfp8, Scaling::Nvfp4};

TEST(EffectiveSettings, AmaxEpsilonIsNeverReportedWhereNothingReadsIt) {
  for (const Scaling scaling : kScalings) {
    RunRequest request = run_of(scaling);
    request.recipe.amax_epsilon = 0.5F;
    const bool used = scaling == Scaling::PerTensorCurrent || scaling == Scaling::Block;
    EXPECT_EQ(forced_settings(request).effective.recipe.amax_epsilon, used ? 0.5F : 0.0F);
    EXPECT_EQ(inapplicable_reason("recipe.amax_epsilon", request).empty(), used);
    const Deviation deviation = only_deviation(request);
    EXPECT_EQ(deviation.field, used ? "" : "recipe.amax_epsilon") << name_of(scaling);
    if (used) continue;
    EXPECT_EQ(deviation.requested, "0.5");
    EXPECT_EQ(deviation.effective, "0");
    EXPECT_EQ(deviation.reason, inapplicable_reason("recipe.amax_epsilon", request));
    request.recipe.amax_epsilon = 0;
    EXPECT_EQ(only_deviation(request).field, "") << "nobody asked";
  }
}

TEST(EffectiveSettings, Pow2ScalesSayHowTheScalesAreMade) {
  const auto effective = [](Scaling scaling, bool asked) {
    RunRequest request = run_of(scaling);
    request.recipe.pow2_scales = asked;
    return forced_settings(request).effective.recipe.pow2_scales;
  };
  for (const Scaling scaling :
       {Scaling::PerTensorCurrent, Scaling::Block, Scaling::PerTensorDelayed}) {
    EXPECT_TRUE(effective(scaling, true));
    EXPECT_FALSE(effective(scaling, false)) << name_of(scaling);
  }
  for (const bool asked : {false, true}) {
    EXPECT_TRUE(effective(Scaling::Mxfp8, asked)) << "E8M0";
    EXPECT_FALSE(effective(Scaling::Nvfp4, asked)) << "E4M3";
  }
  RunRequest request = run_of(Scaling::Mxfp8);
  EXPECT_EQ(only_deviation(request).field, "");
  request.recipe.pow2_scales = false;
  EXPECT_EQ(only_deviation(request).field, "recipe.pow2_scales");
  EXPECT_EQ(only_deviation(request).requested, "off");
  EXPECT_EQ(only_deviation(request).effective, "on");
  EXPECT_THAT(only_deviation(request).reason, HasSubstr("always a power of two"));
  // On is the default: nobody has asked for it, so nobody is told.
  request = run_of(Scaling::Nvfp4);
  EXPECT_EQ(only_deviation(request).field, "");
  request.recipe.pow2_scales = false;
  EXPECT_EQ(only_deviation(request).field, "");
}

TEST(EffectiveSettings, AFormatThatARecipeDoesNotHaveIsNotReported) {
  for (const Scaling scaling : kScalings) {
    RunRequest request = run_of(scaling);
    request.recipe.activation_format = Fp8Format::E5m2;
    const bool one = scaling == Scaling::None || scaling == Scaling::Nvfp4;
    EXPECT_EQ(forced_settings(request).effective.recipe.activation_format,
              one ? Fp8Format::E4m3 : Fp8Format::E5m2);
    EXPECT_EQ(only_deviation(request).field, one ? "recipe.activation_format" : "");
  }
}

TEST(EffectiveSettings, TheSettingsOfAnotherRecipeAreNotReported) {
  RunRequest request = run_of(Scaling::Block);
  request.recipe.delayed = {.history_length = 16, .margin = 2};
  request.recipe.stochastic_rounding = true;
  const ForcedSettings forced = forced_settings(request);
  EXPECT_EQ(forced.effective.recipe.delayed, DelayedScaling{});
  EXPECT_FALSE(forced.effective.recipe.stochastic_rounding);
  std::vector<std::string> fields;
  for (const Deviation& deviation : forced.deviations) fields.push_back(deviation.field);
  EXPECT_THAT(fields,
              ::testing::ElementsAre("recipe.delayed.history_length", "recipe.delayed.margin",
                                     "recipe.stochastic_rounding"));
  request.recipe.scaling = Scaling::PerTensorDelayed;
  EXPECT_EQ(forced_settings(request).effective.recipe.delayed.history_length, 16);
  EXPECT_EQ(inapplicable_reason("recipe.delayed.margin", request), "");
}

TEST(EffectiveSettings, AStepWithoutABackwardPassReportsNothingOfOne) {
  RunRequest request = run_of(Scaling::Block);
  request.products.gradients = FileInput{.path = "/dy.npy", .tensor = ""};
  request.products.wgrad_type = ElementType::Fp32;
  request.products.accumulate_wgrad = true;
  request.recipe.gradient_format = Fp8Format::E5m2;
  request.recipe.square_gradient_blocks = true;
  const ForcedSettings forced = forced_settings(request);
  EXPECT_EQ(forced.effective.products, ProductOptions{});
  EXPECT_EQ(forced.deviations.size(), 5U);
  EXPECT_EQ(forced.deviations.front().requested, "/dy.npy");
  EXPECT_EQ(forced.deviations.front().effective, "none");
  for (const Deviation& deviation : forced.deviations) {
    EXPECT_THAT(deviation.reason, HasSubstr("no backward pass")) << deviation.field;
  }
  request.products.passes = StepPasses::ForwardBackward;
  EXPECT_EQ(forced_settings(request).effective, request);
}

TEST(EffectiveSettings, WhatABackendDoesNotReadIsNotReported) {
  RunRequest request = run_of(Scaling::PerTensorCurrent);
  request.streams = 8;
  request.setup_arrays = SetupArrays::Shared;
  request.int32_splits = true;
  request.programmatic_launch = true;
  request.recipe.split_accumulator = false;
  request.measure.stamps = true;
  const auto fields = [&](GemmBackend backend) {
    request.backend = backend;
    std::vector<std::string> found;
    for (const Deviation& deviation : forced_settings(request).deviations) {
      found.push_back(deviation.field);
      EXPECT_EQ(deviation.reason, inapplicable_reason(deviation.field, request));
    }
    return found;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(fields(GemmBackend::CublasLtGrouped), ElementsAre("streams"));
  EXPECT_THAT(fields(GemmBackend::CublasLtPerExpert),
              ElementsAre("setup_arrays", "programmatic_launch"));
  EXPECT_THAT(fields(GemmBackend::CpuReference),
              ElementsAre("streams", "setup_arrays", "programmatic_launch", "int32_splits",
                          "recipe.split_accumulator", "measure.stamps"));
  request = run_of(Scaling::Block);
  request.workspace = WorkspaceStrategy::Shared;
  request.setup_arrays = SetupArrays::Shared;
  EXPECT_THAT(fields(GemmBackend::CublasLtGrouped), ElementsAre());
  EXPECT_THAT(fields(GemmBackend::Expertscope), ElementsAre("workspace", "setup_arrays"));
  // A switch that is on by default and does nothing was not asked for; off is what happens.
  request = run_of(Scaling::Block, GemmBackend::CpuReference);
  request.try_algorithms = false;
  EXPECT_EQ(forced_settings(request).effective, request);
}

/// Set, read by nothing, and until then reported as effective.
TEST(EffectiveSettings, WhatNothingReadsIsADeviation) {
  const auto expect = [](std::string_view path, std::string_view value, RunRequest without,
                         RunRequest with) {
    SCOPED_TRACE(path);
    ASSERT_TRUE(set_leaf(kType<RunRequest>, &without, path, value));
    ASSERT_TRUE(set_leaf(kType<RunRequest>, &with, path, value));
    EXPECT_EQ(only_deviation(without).field, path);
    EXPECT_EQ(only_deviation(without).requested, value);
    EXPECT_EQ(only_deviation(without).reason, inapplicable_reason(path, without));
    EXPECT_EQ(only_deviation(with).field, "");
    EXPECT_EQ(forced_settings(with).effective, with);
  };
  const RunRequest cpu = run_of(Scaling::Block, GemmBackend::CpuReference);
  const RunRequest grouped = run_of(Scaling::Block);
  expect("products.weight_storage", "list", cpu, grouped);
  expect("measure.traced_iterations", "7", cpu, grouped);
  RunRequest untraced = grouped;
  untraced.measure.trace = TraceLevel::Off;
  expect("measure.traced_iterations", "7", untraced, grouped);
  expect("products.weight_reuse", "4", run_of(Scaling::None), grouped);
  RunRequest until_known = grouped;
  until_known.launch.median_within = 1.0;
  expect("launch.time_limit_s", "2.5", grouped, until_known);
  RunRequest mixed = run_of(Scaling::None);
  mixed.step = StepKind::ExpertLayer;
  mixed.expert_layer.mixed_recipes = true;
  mixed.expert_layer.down_scaling = Scaling::Block;
  expect("products.weight_reuse", "4", run_of(Scaling::None), mixed);
}

TEST(EffectiveSettings, ADefaultRequestRunsAsItIs) {
  for (const GemmBackend backend :
       {GemmBackend::CublasLtGrouped, GemmBackend::CublasLtPerExpert, GemmBackend::CpuReference}) {
    for (const Scaling scaling : kScalings) {
      EXPECT_THAT(forced_settings(run_of(scaling, backend)).deviations, IsEmpty());
    }
  }
}

TEST(InapplicableReason, SaysWhatToChooseInstead) {
  const auto reason = [](std::string_view path, Scaling scaling) {
    return inapplicable_reason(path, run_of(scaling));
  };
  EXPECT_THAT(reason("recipe.amax_epsilon", Scaling::None), HasSubstr("BF16 quantizes nothing"));
  EXPECT_THAT(reason("recipe.amax_epsilon", Scaling::Mxfp8), HasSubstr("exponent alone"));
  EXPECT_THAT(reason("recipe.amax_epsilon", Scaling::PerTensorDelayed), HasSubstr("earlier steps"));
  EXPECT_THAT(reason("recipe.pow2_scales", Scaling::Nvfp4), HasSubstr("16 elements"));
  EXPECT_THAT(reason("recipe.activation_format", Scaling::Nvfp4), HasSubstr("E2M1"));
  EXPECT_THAT(reason("recipe.square_weight_blocks", Scaling::None),
              HasSubstr("FP8 block, MXFP8 and NVFP4"));
  EXPECT_THAT(reason("recipe.square_activation_blocks", Scaling::Mxfp8), HasSubstr("FP8 block"));
  EXPECT_THAT(reason("recipe.hadamard", Scaling::Block), HasSubstr("NVFP4"));
  EXPECT_EQ(reason("recipe.scaling", Scaling::None), "");
  EXPECT_EQ(reason("shape.n", Scaling::None), "");
}

TEST(SameStep, LeavesOutWhatHasNoEffect) {
  RunRequest a;
  a.recipe.scaling = Scaling::None;
  RunRequest b = a;
  EXPECT_TRUE(same_step(a, b));
  b.shape.preset = "a name";
  b.recipe.amax_epsilon = 1e-3F;  // of recipes that quantize
  b.launch.markers = true;        // of replays
  a.launch.kind = b.launch.kind = LaunchKind::Eager;
  EXPECT_NE(a, b);
  EXPECT_TRUE(same_step(a, b));
  b.recipe.scaling = Scaling::Block;
  EXPECT_FALSE(same_step(a, b));
  b = a;
  b.measure.pace = Pace::Burst;
  EXPECT_FALSE(same_step(a, b));
}

TEST(Inapplicable, GraphsOfTheirOwnAndMicroBatchesInFlight) {
  RunRequest request;
  request.backend = GemmBackend::CublasLtGrouped;
  request.launch = {.kind = LaunchKind::GraphReplay,
                    .markers = true,
                    .graphs = StepGraphs::ForwardAndBackward,
                    .graph_pool = PoolSharing::OnePerGraph,
                    .in_flight = 3};
  EXPECT_THAT(inapplicable_reason("launch.graphs", request), HasSubstr("expert layer"));
  EXPECT_THAT(inapplicable_reason("launch.graph_pool", request), HasSubstr("expert layer"));
  EXPECT_THAT(inapplicable_reason("launch.in_flight", request), HasSubstr("expert layer"));
  const ForcedSettings linear = forced_settings(request);
  EXPECT_EQ(linear.effective.launch.graphs, StepGraphs::One);
  EXPECT_EQ(linear.effective.launch.graph_pool, PoolSharing::Shared);
  EXPECT_EQ(linear.effective.launch.in_flight, 1);
  EXPECT_TRUE(linear.effective.launch.markers) << "one graph can have them";

  request.step = StepKind::ExpertLayer;
  EXPECT_THAT(inapplicable_reason("launch.graphs", request), HasSubstr("One pass"));
  EXPECT_THAT(inapplicable_reason("launch.in_flight", request),
              HasSubstr("the expert layer and Both"));
  request.products.passes = StepPasses::ForwardBackward;
  for (const char* path : {"launch.graphs", "launch.graph_pool", "launch.in_flight"}) {
    EXPECT_THAT(inapplicable_reason(path, request), IsEmpty()) << path;
  }
  const ForcedSettings both = forced_settings(request);
  EXPECT_EQ(both.effective.launch.graphs, StepGraphs::ForwardAndBackward);
  EXPECT_EQ(both.effective.launch.in_flight, 3);
  EXPECT_FALSE(both.effective.launch.markers);
  EXPECT_THAT(inapplicable_reason("launch.markers", request), HasSubstr("several"));

  RunRequest changed = request;
  changed.launch.graphs = StepGraphs::One;
  EXPECT_THAT(inapplicable_reason("launch.graph_pool", changed), HasSubstr("single graph"));
  EXPECT_THAT(inapplicable_reason("launch.in_flight", changed), IsEmpty());
  EXPECT_THAT(inapplicable_reason("launch.markers", changed), IsEmpty());
  changed = request;
  changed.launch.kind = LaunchKind::Eager;
  EXPECT_THAT(inapplicable_reason("launch.graphs", changed), HasSubstr("No graph is captured"));
  EXPECT_THAT(inapplicable_reason("launch.in_flight", changed), IsEmpty());
  changed = request;
  changed.backend = GemmBackend::CublasLtPerExpert;
  EXPECT_THAT(inapplicable_reason("launch.graphs", changed), IsEmpty());
  EXPECT_THAT(inapplicable_reason("launch.in_flight", changed), HasSubstr("host"));
  changed.backend = GemmBackend::CpuReference;
  EXPECT_THAT(inapplicable_reason("launch.in_flight", changed), HasSubstr("CPU"));
  EXPECT_EQ(forced_settings(changed).effective.launch.in_flight, 1);
}

TEST(Inapplicable, OptionsOfTheExpertLayer) {
  RunRequest request;
  EXPECT_THAT(inapplicable_reason("expert_layer.activation", request), HasSubstr("linear"));
  EXPECT_EQ(forced_settings(request).effective, request) << "defaults ask for nothing";
  request.step = StepKind::ExpertLayer;
  EXPECT_THAT(inapplicable_reason("expert_layer.activation", request), IsEmpty());
  EXPECT_THAT(inapplicable_reason("expert_layer.down_weights", request), IsEmpty());
  EXPECT_THAT(inapplicable_reason("expert_layer.down_scaling", request), HasSubstr("mixed"));
  EXPECT_THAT(inapplicable_reason("expert_layer.recompute_activation", request),
              HasSubstr("no backward pass"));
  EXPECT_THAT(inapplicable_reason("expert_layer.fused_activation", request), IsEmpty());
  request.recipe.scaling = Scaling::Nvfp4;
  EXPECT_THAT(inapplicable_reason("expert_layer.fused_activation", request), HasSubstr("MXFP8"));
  EXPECT_FALSE(forced_settings(request).effective.expert_layer.fused_activation);
  // A is the down projection's.
  request.expert_layer.mixed_recipes = true;
  request.expert_layer.down_scaling = Scaling::Block;
  EXPECT_THAT(inapplicable_reason("expert_layer.fused_activation", request), IsEmpty());
}

/// Every setting of the recipe, for every pair of recipes on every backend: it has an effect in the
/// layer if it has one in a linear step of either recipe, and is then neither changed nor reported.
TEST(EffectiveSettings, MixedRecipesKeepTheSettingsOfBothProjections) {
  int kept = 0;
  int forced_away = 0;
  const RunRequest defaults;
  for (const GemmBackend backend :
       {GemmBackend::CublasLtGrouped, GemmBackend::CublasLtPerExpert, GemmBackend::CpuReference}) {
    for_each_leaf(kType<Recipe>, &defaults.recipe, [&](const Leaf& leaf) {
      if (leaf.path == "scaling") return;
      const std::string path = "recipe." + leaf.path;
      for (const Scaling up : kScalings) {
        for (const Scaling down : kScalings) {
          SCOPED_TRACE(path + ", " + std::string(name_of(up)) + ", " + std::string(name_of(down)));
          RunRequest request = run_of(up, backend);
          request.products.passes = StepPasses::ForwardBackward;
          ASSERT_TRUE(set_leaf(kType<RunRequest>, &request, path, another_value(leaf)));
          RunRequest of_down = request;
          of_down.recipe.scaling = down;
          const bool used = inapplicable_reason(path, request).empty() ||
                            inapplicable_reason(path, of_down).empty();
          request.step = StepKind::ExpertLayer;
          request.expert_layer.mixed_recipes = true;
          request.expert_layer.down_scaling = down;
          const std::string reason = inapplicable_reason(path, request);
          EXPECT_EQ(reason.empty(), used) << reason;
          const ForcedSettings forced = forced_settings(request);
          const auto text = [&](const RunRequest& one) { return leaf_texts(one).at(path); };
          if (used) {
            EXPECT_EQ(text(forced.effective), text(request));
          }
          for (const Deviation& deviation : forced.deviations) {
            if (deviation.field != path) continue;
            EXPECT_FALSE(used);
            EXPECT_EQ(deviation.reason, reason);
          }
          ++(used ? kept : forced_away);
        }
      }
    });
  }
  EXPECT_GT(kept, 500);
  EXPECT_GT(forced_away, 300);
}

TEST(EffectiveSettings, TwoRecipesWithoutASettingHaveAReasonEach) {
  RunRequest request = run_of(Scaling::None);
  request.step = StepKind::ExpertLayer;
  request.recipe.activation_format = Fp8Format::E5m2;
  request.expert_layer.mixed_recipes = true;
  request.expert_layer.down_scaling = Scaling::Nvfp4;
  const std::string reason = only_deviation(request).reason;
  EXPECT_THAT(reason, HasSubstr("Up projection: BF16 quantizes nothing"));
  EXPECT_THAT(reason, HasSubstr("Down projection: NVFP4 has one element format"));
  request.expert_layer.down_scaling = Scaling::None;
  EXPECT_EQ(only_deviation(request).reason, "BF16 quantizes nothing: choose another recipe");
}

TEST(Support, OfARequestIsThatOfItsWorseProjection) {
  RunRequest request = shared_block_graph();
  request.step = StepKind::ExpertLayer;
  request.recipe.activation_format = Fp8Format::E5m2;
  request.recipe.scaling = Scaling::None;
  request.expert_layer.mixed_recipes = true;
  request.expert_layer.down_scaling = Scaling::Block;
  for (const bool swapped : {false, true}) {
    if (swapped) std::swap(request.recipe.scaling, request.expert_layer.down_scaling);
    EXPECT_EQ(recipe_support(request, hopper(131000)).support, Support::Refused) << "block E5M2";
    EXPECT_EQ(workspace_support(request.workspace, request, hopper(130500)).support,
              Support::Hazardous);
  }
  request.recipe.scaling = request.expert_layer.down_scaling = Scaling::None;
  EXPECT_EQ(recipe_support(request, hopper(131000)).support, Support::Supported);
  EXPECT_EQ(workspace_support(request.workspace, request, hopper(130500)).support,
            Support::Supported);
}

}  // namespace
}  // namespace engine
