// The gate table, asked as the engine and the window ask it. No GPU.
#include "engine/gemm/support.h"
#include "engine/gemm/same_step.h"
#include "engine/model/projections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceCapability hopper(long version) {
  return {.cuda = true, .compute_major = 9, .compute_minor = 0, .cublaslt_version = version};
}

Recipe recipe(Scaling scaling) {
  Recipe made;
  made.scaling = scaling;
  return made;
}

Support ask(Scaling scaling, const DeviceCapability& device) {
  return recipe_support(recipe(scaling), GemmBackend::CublasLtGrouped, device).support;
}

TEST(RecipeSupport, FollowsTheVersionsMeasuredOnHopper) {
  EXPECT_EQ(ask(Scaling::None, hopper(130300)), Support::Refused);
  EXPECT_EQ(ask(Scaling::None, hopper(130400)), Support::Supported);
  EXPECT_EQ(ask(Scaling::PerTensorCurrent, hopper(130400)), Support::Refused);
  EXPECT_EQ(ask(Scaling::PerTensorCurrent, hopper(130500)), Support::Supported);
  EXPECT_EQ(ask(Scaling::Block, hopper(130501)), Support::Hazardous);
  EXPECT_EQ(ask(Scaling::Block, hopper(130600)), Support::Supported);
  EXPECT_EQ(ask(Scaling::Block, hopper(131000)), Support::Supported);
}

TEST(RecipeSupport, BlockScalingIsHopperOnlyAndNamesMxfp8) {
  const DeviceCapability blackwell{.cuda = true, .compute_major = 10, .cublaslt_version = 131000};
  const Verdict verdict =
      recipe_support(recipe(Scaling::Block), GemmBackend::CublasLtGrouped, blackwell);
  EXPECT_EQ(verdict.support, Support::Refused);
  EXPECT_THAT(verdict.sentence, HasSubstr("10.0"));
  EXPECT_THAT(verdict.sentence, HasSubstr("MXFP8"));
  EXPECT_EQ(ask(Scaling::PerTensorCurrent, blackwell), Support::Supported);
  EXPECT_EQ(ask(Scaling::None, {.cuda = true, .compute_major = 10, .cublaslt_version = 130200}),
            Support::Refused);
}

TEST(RecipeSupport, MicroScalingFallsBackToProductsOfDequantizedOperands) {
  const DeviceCapability blackwell{.cuda = true, .compute_major = 10, .cublaslt_version = 131000};
  for (const Scaling scaling : {Scaling::Mxfp8, Scaling::Nvfp4}) {
    for (const GemmBackend backend :
         {GemmBackend::CublasLtGrouped, GemmBackend::CublasLtPerExpert}) {
      const Verdict verdict = recipe_support(recipe(scaling), backend, hopper(131000));
      EXPECT_EQ(verdict.support, Support::Fallback);
      EXPECT_THAT(verdict.sentence, HasSubstr("dequantized operands"));
    }
  }
  EXPECT_EQ(name_of(ask(Scaling::Mxfp8, hopper(131000))), "fallback") << "as a list prints it";
  EXPECT_EQ(ask(Scaling::Mxfp8, blackwell), Support::Supported);
  EXPECT_EQ(ask(Scaling::Nvfp4, blackwell), Support::Supported);
  const Verdict older =
      recipe_support(recipe(Scaling::Nvfp4), GemmBackend::CublasLtGrouped,
                     {.cuda = true, .compute_major = 10, .cublaslt_version = 130300});
  EXPECT_EQ(older.support, Support::Fallback);
  EXPECT_THAT(older.sentence, HasSubstr("13.3.0"));
  const Verdict backward = recipe_support(recipe(Scaling::Nvfp4), GemmBackend::CublasLtGrouped,
                                          blackwell, {.passes = StepPasses::ForwardBackward});
  EXPECT_EQ(backward.support, Support::Fallback);
  EXPECT_THAT(backward.sentence, HasSubstr("transposed"));
  EXPECT_EQ(
      recipe_support(recipe(Scaling::Nvfp4), GemmBackend::CublasLtPerExpert, blackwell).support,
      Support::Fallback);
  // The BF16 products of an emulation have gates of their own.
  EXPECT_EQ(ask(Scaling::Mxfp8, hopper(130300)), Support::Refused);
  EXPECT_EQ(ask(Scaling::PerTensorDelayed, hopper(131000)), Support::Supported);
  EXPECT_EQ(
      recipe_support(recipe(Scaling::PerTensorDelayed), GemmBackend::CpuReference, {}).support,
      Support::Supported);
}

TEST(RecipeSupport, NamesTheLoadedVersion) {
  const Verdict verdict =
      recipe_support(recipe(Scaling::Block), GemmBackend::CublasLtGrouped, hopper(130501));
  EXPECT_THAT(verdict.sentence, HasSubstr("13.5.1"));
}

TEST(RecipeSupport, OldDevicesMissingDevicesAndMissingLibrariesAreDistinguished) {
  const DeviceCapability ampere{.cuda = true, .compute_major = 8, .cublaslt_version = 131000};
  const auto sentence = [](Scaling scaling, const DeviceCapability& device) {
    return recipe_support(recipe(scaling), GemmBackend::CublasLtGrouped, device).sentence;
  };
  EXPECT_THAT(sentence(Scaling::Block, ampere), HasSubstr("FP8 products"));
  EXPECT_THAT(sentence(Scaling::None, ampere), HasSubstr("8.0"));
  EXPECT_THAT(sentence(Scaling::None, {}), HasSubstr("needs a CUDA device"));
  EXPECT_THAT(sentence(Scaling::None, hopper(0)), HasSubstr("No cuBLASLt library"));
}

TEST(RecipeSupport, CpuRunsEveryRecipeAndCudaRefusesBlockScaledE5m2) {
  Recipe e5m2 = recipe(Scaling::Block);
  e5m2.activation_format = Fp8Format::E5m2;
  EXPECT_EQ(recipe_support(e5m2, GemmBackend::CpuReference, {}).support, Support::Supported);
  EXPECT_EQ(recipe_support(e5m2, GemmBackend::CublasLtGrouped, hopper(131000)).support,
            Support::Refused);
  e5m2.scaling = Scaling::PerTensorCurrent;
  EXPECT_EQ(recipe_support(e5m2, GemmBackend::CublasLtGrouped, hopper(131000)).support,
            Support::Supported);
}

RunRequest shared_block_graph() {
  RunRequest request;
  request.backend = GemmBackend::CublasLtGrouped;
  request.recipe.scaling = Scaling::Block;
  request.workspace = WorkspaceStrategy::Shared;
  request.launch.kind = LaunchKind::GraphReplay;
  request.layers = 2;
  return request;
}

TEST(WorkspaceSupport, SharedIsHazardousOnlyWhereReplaysWereMeasuredWrong) {
  const auto ask_shared = [](const RunRequest& request, long version) {
    return workspace_support(request.workspace, request, hopper(version)).support;
  };
  const RunRequest bad = shared_block_graph();
  EXPECT_EQ(ask_shared(bad, 130600), Support::Hazardous);
  EXPECT_EQ(ask_shared(bad, 130601), Support::Supported);
  EXPECT_EQ(ask_shared(bad, 130602), Support::Supported);
  EXPECT_EQ(ask_shared(bad, 130700), Support::Supported);
  EXPECT_EQ(ask_shared(bad, 131000), Support::Supported);
  EXPECT_THAT(workspace_support(bad.workspace, bad, hopper(130600)).sentence,
              HasSubstr("wrong from replay 2 on"));

  RunRequest one_layer = bad;
  one_layer.layers = 1;
  EXPECT_EQ(ask_shared(one_layer, 130600), Support::Supported);
  RunRequest eager = bad;
  eager.launch.kind = LaunchKind::Eager;
  EXPECT_EQ(ask_shared(eager, 130600), Support::Supported);
  RunRequest bf16 = bad;
  bf16.recipe.scaling = Scaling::None;
  EXPECT_EQ(ask_shared(bf16, 130600), Support::Supported);
  EXPECT_EQ(workspace_support(WorkspaceStrategy::PerMatmul, bad, hopper(130600)).support,
            Support::Supported);
}

TEST(WorkspaceSupport, CountsTheProductsThatShareAWorkspace) {
  RunRequest request = shared_block_graph();
  const auto ask = [&](WorkspaceStrategy strategy) {
    return workspace_support(strategy, request, hopper(130600)).support;
  };
  EXPECT_EQ(ask(WorkspaceStrategy::PerLayout), Support::Hazardous) << "two layers, one layout";
  EXPECT_EQ(ask(WorkspaceStrategy::PerCall), Support::Hazardous);
  request.layers = 1;
  EXPECT_EQ(ask(WorkspaceStrategy::PerCall), Support::Supported) << "one product";
  request.linear.passes = StepPasses::ForwardBackward;
  EXPECT_EQ(ask(WorkspaceStrategy::Shared), Support::Hazardous) << "fprop, dgrad and wgrad";
  EXPECT_EQ(ask(WorkspaceStrategy::PerCall), Support::Hazardous);
  EXPECT_EQ(ask(WorkspaceStrategy::PerLayout), Support::Supported) << "one product per layout";
  request.step = StepKind::ExpertLayer;
  EXPECT_EQ(ask(WorkspaceStrategy::PerLayout), Support::Hazardous) << "two projections";
  request.linear.passes = StepPasses::Forward;
  EXPECT_EQ(ask(WorkspaceStrategy::Shared), Support::Hazardous) << "two projections";
  request.backend = GemmBackend::CublasLtPerExpert;
  EXPECT_EQ(ask(WorkspaceStrategy::Shared), Support::Supported) << "no grouped kernel";
}

TEST(RecipeSupport, ProductsRefuseTwoSquareOperandsAndTwoE5m2Ones) {
  Recipe block = recipe(Scaling::Block);
  const auto ask_passes = [&](const Recipe& asked, StepPasses passes) {
    LinearOptions linear;
    linear.passes = passes;
    return recipe_support(asked, GemmBackend::CublasLtGrouped, hopper(131000), linear).support;
  };
  EXPECT_EQ(ask_passes(block, StepPasses::ForwardBackward), Support::Supported);
  block.square_gradient_blocks = true;
  EXPECT_EQ(ask_passes(block, StepPasses::Forward), Support::Supported);
  EXPECT_EQ(ask_passes(block, StepPasses::Backward), Support::Refused);
  block.square_weight_blocks = false;
  EXPECT_EQ(ask_passes(block, StepPasses::ForwardBackward), Support::Supported);
  block.square_activation_blocks = true;
  EXPECT_EQ(ask_passes(block, StepPasses::Forward), Support::Supported);
  EXPECT_EQ(ask_passes(block, StepPasses::ForwardBackward), Support::Refused) << "wgrad";

  Recipe tensor = recipe(Scaling::PerTensorCurrent);
  tensor.activation_format = tensor.gradient_format = Fp8Format::E5m2;
  EXPECT_EQ(ask_passes(tensor, StepPasses::Forward), Support::Supported);
  EXPECT_EQ(ask_passes(tensor, StepPasses::ForwardBackward), Support::Refused);
  tensor.activation_format = Fp8Format::E4m3;
  EXPECT_EQ(ask_passes(tensor, StepPasses::ForwardBackward), Support::Supported);
}

TEST(LaunchSupport, CapturedPerExpertStepsKeepTheirSplits) {
  const LaunchMode graph{.kind = LaunchKind::GraphReplay};
  EXPECT_EQ(launch_support(graph, GemmBackend::CublasLtPerExpert, hopper(131000)).support,
            Support::Hazardous);
  EXPECT_EQ(launch_support(graph, GemmBackend::CublasLtGrouped, hopper(131000)).support,
            Support::Supported);
}

TEST(CpuSupport, WorkspaceAndGraphDoNotApply) {
  RunRequest request = shared_block_graph();
  request.backend = GemmBackend::CpuReference;
  const Verdict workspace = workspace_support(request.workspace, request, {});
  EXPECT_EQ(workspace.support, Support::Refused);
  EXPECT_THAT(workspace.sentence, HasSubstr("OpenBLAS"));
  const Verdict launch = launch_support(request.launch, request.backend, {});
  EXPECT_EQ(launch.support, Support::Refused);
  EXPECT_THAT(launch.sentence, HasSubstr("CUDA graphs need a CUDA device"));
  EXPECT_EQ(launch_support({}, request.backend, {}).support, Support::Supported);
}

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

RunRequest run_of(Scaling scaling, GemmBackend backend = GemmBackend::CublasLtGrouped) {
  RunRequest request;
  request.recipe = recipe(scaling);
  request.backend = backend;
  return request;
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
  EXPECT_THAT(only_deviation(request).reason, HasSubstr("power of two already"));
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
  request.linear.gradients = FileInput{.path = "/dy.npy", .tensor = ""};
  request.linear.wgrad_type = ElementType::Fp32;
  request.linear.accumulate_wgrad = true;
  request.recipe.gradient_format = Fp8Format::E5m2;
  request.recipe.square_gradient_blocks = true;
  const ForcedSettings forced = forced_settings(request);
  EXPECT_EQ(forced.effective.linear, LinearOptions{});
  EXPECT_EQ(forced.deviations.size(), 5U);
  EXPECT_EQ(forced.deviations.front().requested, "/dy.npy");
  EXPECT_EQ(forced.deviations.front().effective, "none");
  for (const Deviation& deviation : forced.deviations) {
    EXPECT_THAT(deviation.reason, HasSubstr("no backward pass")) << deviation.field;
  }
  request.linear.passes = StepPasses::ForwardBackward;
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
  // A switch that is on by default and does nothing was not asked for; off is what happens.
  request = run_of(Scaling::Block, GemmBackend::CpuReference);
  request.try_algorithms = false;
  EXPECT_EQ(forced_settings(request).effective, request);
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

TEST(Gates, EveryRowHasAFilledSentence) {
  for (const DeviceCapability& device : {DeviceCapability{}, hopper(130602)}) {
    const std::vector<Gate> gates = list_gates(device);
    EXPECT_GE(gates.size(), 10U);
    for (const Gate& gate : gates) {
      EXPECT_FALSE(gate.subject.empty());
      EXPECT_FALSE(gate.condition.empty());
      EXPECT_THAT(gate.sentence, ::testing::Not(HasSubstr("{")));
      EXPECT_NE(gate.support, Support::Supported);
    }
  }
}

TEST(Gates, VersionTextDropsNothingItCanSee) {
  EXPECT_EQ(cublaslt_version_text(131000), "13.10.0");
  EXPECT_EQ(cublaslt_version_text(130602), "13.6.2");
  EXPECT_EQ(cublaslt_version_text(0), "none");
}

TEST(Capability, IsReadFromWhatADeviceSaysOfItself) {
  DeviceFacts facts;
  facts.compute_capability = "9.0";
  facts.cublaslt_version = "13.10.0";
  const DeviceCapability hopper = capability_of(facts, true);
  EXPECT_TRUE(hopper.cuda);
  EXPECT_EQ(hopper.compute_major, 9);
  EXPECT_EQ(hopper.compute_minor, 0);
  EXPECT_EQ(hopper.cublaslt_version, 131000);
  // A recording or another machine's worker may say anything.
  facts.compute_capability = "nonsense";
  facts.cublaslt_version = "99999999.-7.99999999999999999999";
  const DeviceCapability odd = capability_of(facts, false);
  EXPECT_FALSE(odd.cuda);
  EXPECT_EQ(odd.compute_major, 0);
  EXPECT_EQ(odd.cublaslt_version, 99990000);
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

TEST(Projections, AreLinearStepsWithTheirOwnShapesSeedsAndRecipes) {
  RunRequest request;
  request.step = StepKind::ExpertLayer;
  request.shape.n = 96;
  request.shape.k = 64;
  request.linear.passes = StepPasses::Backward;
  request.expert_layer.mixed_recipes = true;
  request.expert_layer.down_scaling = Scaling::Mxfp8;
  const RunRequest up = projection_of(request, Projection::Up);
  const RunRequest down = projection_of(request, Projection::Down);
  EXPECT_EQ(up.step, StepKind::Linear);
  EXPECT_EQ(up.shape, request.shape);
  EXPECT_EQ(up.recipe, request.recipe);
  EXPECT_EQ(up.seed, request.seed);
  EXPECT_EQ(up.linear.passes, StepPasses::ForwardBackward) << "backward reads what forward made";
  EXPECT_EQ(down.shape.n, 64);
  EXPECT_EQ(down.shape.k, 48);
  EXPECT_EQ(down.recipe.scaling, Scaling::Mxfp8);
  EXPECT_NE(down.seed, request.seed);
  request.expert_layer.activation = LayerActivation::Gelu;
  EXPECT_EQ(projection_of(request, Projection::Down).shape.k, 96);
}

}  // namespace
}  // namespace engine
