// The gate table, asked as the engine and the window ask it. No GPU.
#include "engine/gemm/support.h"
#include "engine/model/projections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/gemm/asked.h"

namespace engine {
namespace {

using ::testing::HasSubstr;

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

TEST(RecipeSupport, OwnProductsNeedFp8LinesAndSquareWeightsInOneTensor) {
  const auto verdict = [](const Recipe& asked, StepPasses passes) {
    return recipe_support(asked, GemmBackend::Expertscope, hopper(131000), {.passes = passes});
  };
  const Recipe block = recipe(Scaling::Block);
  EXPECT_EQ(verdict(block, StepPasses::ForwardBackward).support, Support::Supported);
  EXPECT_EQ(verdict(block, StepPasses::Backward).support, Support::Supported);
  EXPECT_EQ(verdict(block, StepPasses::Forward).support, Support::Supported);
  Recipe squares = block;
  squares.square_weight_blocks = false;
  squares.square_gradient_blocks = true;
  Recipe lines = block;
  lines.square_weight_blocks = false;
  for (const Recipe& other : {recipe(Scaling::None), recipe(Scaling::PerTensorCurrent),
                              recipe(Scaling::Mxfp8), squares, lines}) {
    const Verdict refused = verdict(other, StepPasses::ForwardBackward);
    EXPECT_EQ(refused.support, Support::Refused);
    EXPECT_THAT(refused.sentence, HasSubstr("cuBLASLt grouped"));
  }
  const Verdict list =
      recipe_support(block, GemmBackend::Expertscope, hopper(131000),
                     {.passes = StepPasses::Forward, .weight_storage = WeightStorage::List});
  EXPECT_EQ(list.support, Support::Refused);
  EXPECT_THAT(list.sentence, HasSubstr("one tensor"));
}

TEST(RecipeSupport, OwnProductsHaveNeitherCublasLtsLimitsNorItsWorkspace) {
  Recipe wide = recipe(Scaling::Block);
  wide.activation_format = Fp8Format::E5m2;
  wide.gradient_format = Fp8Format::E5m2;
  const auto of = [&](GemmBackend backend) {
    return recipe_support(wide, backend, hopper(131000), {.passes = StepPasses::ForwardBackward})
        .support;
  };
  EXPECT_EQ(of(GemmBackend::CublasLtGrouped), Support::Refused);
  EXPECT_EQ(of(GemmBackend::Expertscope), Support::Supported);
  // A library without the grouped matmul, as CUDA 13.0 brings it.
  EXPECT_EQ(recipe_support(wide, GemmBackend::Expertscope, hopper(130100)).support,
            Support::Supported);
  EXPECT_EQ(recipe_support(wide, GemmBackend::CublasLtGrouped, hopper(130100)).support,
            Support::Refused);
  RunRequest request;
  request.recipe = recipe(Scaling::Block);
  request.products.passes = StepPasses::ForwardBackward;
  request.launch.kind = LaunchKind::GraphReplay;
  const auto workspace = [&](GemmBackend backend) {
    request.backend = backend;
    return workspace_support(WorkspaceStrategy::Shared, request, hopper(130500));
  };
  EXPECT_EQ(workspace(GemmBackend::CublasLtGrouped).support, Support::Hazardous);
  EXPECT_EQ(workspace(GemmBackend::Expertscope).support, Support::Supported);
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
  request.products.passes = StepPasses::ForwardBackward;
  EXPECT_EQ(ask(WorkspaceStrategy::Shared), Support::Hazardous) << "fprop, dgrad and wgrad";
  EXPECT_EQ(ask(WorkspaceStrategy::PerCall), Support::Hazardous);
  EXPECT_EQ(ask(WorkspaceStrategy::PerLayout), Support::Supported) << "one product per layout";
  request.step = StepKind::ExpertLayer;
  EXPECT_EQ(ask(WorkspaceStrategy::PerLayout), Support::Hazardous) << "two projections";
  request.products.passes = StepPasses::Forward;
  EXPECT_EQ(ask(WorkspaceStrategy::Shared), Support::Hazardous) << "two projections";
  request.backend = GemmBackend::CublasLtPerExpert;
  EXPECT_EQ(ask(WorkspaceStrategy::Shared), Support::Supported) << "no grouped kernel";
}

TEST(RecipeSupport, ProductsRefuseTwoSquareOperandsAndTwoE5m2Ones) {
  Recipe block = recipe(Scaling::Block);
  const auto ask_passes = [&](const Recipe& asked, StepPasses passes) {
    ProductOptions products;
    products.passes = passes;
    return recipe_support(asked, GemmBackend::CublasLtGrouped, hopper(131000), products).support;
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

TEST(Projections, AreLinearStepsWithTheirOwnShapesSeedsAndRecipes) {
  RunRequest request;
  request.step = StepKind::ExpertLayer;
  request.shape.n = 96;
  request.shape.k = 64;
  request.products.passes = StepPasses::Backward;
  request.expert_layer.mixed_recipes = true;
  request.expert_layer.down_scaling = Scaling::Mxfp8;
  const RunRequest up = projection_of(request, Projection::Up);
  const RunRequest down = projection_of(request, Projection::Down);
  EXPECT_EQ(up.step, StepKind::Linear);
  EXPECT_EQ(up.shape, request.shape);
  EXPECT_EQ(up.recipe, request.recipe);
  EXPECT_EQ(up.seed, request.seed);
  EXPECT_EQ(up.products.passes, StepPasses::ForwardBackward) << "backward reads what forward made";
  EXPECT_EQ(down.shape.n, 64);
  EXPECT_EQ(down.shape.k, 48);
  EXPECT_EQ(down.recipe.scaling, Scaling::Mxfp8);
  EXPECT_NE(down.seed, request.seed);
  request.expert_layer.activation = LayerActivation::Gelu;
  EXPECT_EQ(projection_of(request, Projection::Down).shape.k, 96);
}

}  // namespace
}  // namespace engine
