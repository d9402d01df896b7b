// What forward keeps for backward, against numbers computed by hand from the layouts in
// kernels/quantize.
#include "engine/program/saved_memory.h"

#include <gtest/gtest.h>

#include <array>

#include "engine/quantize/operand_layout.h"

namespace engine {
namespace {

constexpr std::array<std::int64_t, 2> kSplits = {100, 28};

/// X [128, 256], H [128, 512], A [128, 256]; Wup [2, 512, 256], Wdown [2, 256, 256].
RunRequest layer(Scaling scaling) {
  RunRequest request;
  request.step = StepKind::ExpertLayer;
  request.shape = {.preset = {}, .num_experts = 2, .rows = 128, .n = 512, .k = 256};
  request.recipe.scaling = scaling;
  request.products.passes = StepPasses::ForwardBackward;
  return request;
}

std::vector<SavedTensor> five(const std::array<std::int64_t, 5>& bytes) {
  using enum StepTensor;
  return {{.tensor = X, .bytes = bytes[0]},
          {.tensor = WUp, .bytes = bytes[1]},
          {.tensor = H, .bytes = bytes[2]},
          {.tensor = A, .bytes = bytes[3]},
          {.tensor = WDown, .bytes = bytes[4]}};
}

constexpr std::int64_t kH = std::int64_t{128} * 512 * 2;  // of every recipe

TEST(SavedMemory, UnquantizedKeepsTheElementsThemselvesAndNoSecondWeights) {
  EXPECT_EQ(saved_for_backward(layer(Scaling::None), kSplits),
            five({128 * 256 * 2, 0, kH, 128 * 256 * 2, 0}));
}

TEST(SavedMemory, FromTokensTheRowsOfYAreKeptToo) {
  RunRequest request = layer(Scaling::None);
  request.expert_layer.top_k = 2;
  std::vector<SavedTensor> expected = five({128 * 256 * 2, 0, kH, 128 * 256 * 2, 0});
  expected.push_back({.tensor = StepTensor::Y, .bytes = 128 * 256 * 2});
  EXPECT_EQ(saved_for_backward(request, kSplits), expected);
  request.products.passes = StepPasses::Forward;
  EXPECT_TRUE(saved_for_backward(request, kSplits).empty());
}

TEST(SavedMemory, PerTensorHasOneScalePerExpert) {
  EXPECT_EQ(
      saved_for_backward(layer(Scaling::PerTensorCurrent), kSplits),
      five({128 * 256 + 2 * 4, 2 * (512 * 256 + 4), kH, 128 * 256 + 2 * 4, 2 * (256 * 256 + 4)}));
}

TEST(SavedMemory, BlocksOfEveryExpertBeginAnew) {
  // Columns of 128 rows: 100 rows are one block and 28 another. Weights: 4x2 and 2x2 squares.
  EXPECT_EQ(saved_for_backward(layer(Scaling::Block), kSplits),
            five({128 * 256 + 2 * 256 * 4, 2 * (512 * 256 + 8 * 4), kH, 128 * 256 + 2 * 256 * 4,
                  2 * (256 * 256 + 4 * 4)}));
}

TEST(SavedMemory, MicroScalesArePaddedAsTheyAreWritten) {
  // Blocks along 100 rows: 4 of 32, 7 of 16; along 28: 1 and 2; each rounded up to 4 bytes.
  // Square blocks repeat their scale on every line: 512 / 32 and 512 / 16 along a weight's rows.
  EXPECT_EQ(saved_for_backward(layer(Scaling::Mxfp8), kSplits),
            five({128 * 256 + 256 * (4 + 4), 2 * (512 * 256 + 256 * 16), kH,
                  128 * 256 + 256 * (4 + 4), 2 * (256 * 256 + 256 * 8)}));
  // Two codes to a byte, rows padded to 16; an amax for every expert.
  const std::int64_t rows = (112 + 32) * 256 / 2 + 256 * (8 + 4) + 2 * 4;
  EXPECT_EQ(saved_for_backward(layer(Scaling::Nvfp4), kSplits),
            five({rows, 2 * (512 * 256 / 2 + 256 * 32 + 4), kH, rows,
                  2 * (256 * 256 / 2 + 256 * 16 + 4)}));
}

TEST(SavedMemory, RecomputedActivationIsNotKept) {
  RunRequest request = layer(Scaling::PerTensorCurrent);
  request.expert_layer.recompute_activation = true;
  EXPECT_EQ(saved_for_backward(request, kSplits),
            five({128 * 256 + 2 * 4, 2 * (512 * 256 + 4), kH, 0, 2 * (256 * 256 + 4)}));
}

TEST(SavedMemory, EachProjectionHasItsRecipe) {
  RunRequest request = layer(Scaling::PerTensorCurrent);
  request.expert_layer.mixed_recipes = true;
  request.expert_layer.down_scaling = Scaling::None;
  EXPECT_EQ(saved_for_backward(request, kSplits),
            five({128 * 256 + 2 * 4, 2 * (512 * 256 + 4), kH, 128 * 256 * 2, 0}));
}

TEST(SavedMemory, UngatedActivationHasAllColumnsOfH) {
  RunRequest request = layer(Scaling::None);
  request.expert_layer.activation = LayerActivation::Gelu;
  EXPECT_EQ(saved_for_backward(request, kSplits), five({128 * 256 * 2, 0, kH, kH, 0}));
}

TEST(SavedMemory, LinearStepKeepsItsTwoOperands) {
  RunRequest request = layer(Scaling::PerTensorCurrent);
  request.step = StepKind::Linear;
  const std::vector<SavedTensor> two = {{.tensor = StepTensor::X, .bytes = 128 * 256 + 2 * 4},
                                        {.tensor = StepTensor::WUp, .bytes = 2 * (512 * 256 + 4)}};
  EXPECT_EQ(saved_for_backward(request, kSplits), two);
}

TEST(SavedMemory, ForwardAloneKeepsNothing) {
  RunRequest request = layer(Scaling::Block);
  request.products.passes = StepPasses::Forward;
  EXPECT_TRUE(saved_for_backward(request, kSplits).empty());
  // The backward pass alone reads what a forward one has kept.
  request.products.passes = StepPasses::Backward;
  EXPECT_EQ(saved_for_backward(request, kSplits).size(), 5U);
}

TEST(SavedMemory, CopyInBothDirections) {
  const Recipe block{.scaling = Scaling::Block};
  const CopyExtent x{.role = OperandRole::Activations, .splits = kSplits, .columns = 256};
  EXPECT_EQ(copy_bytes(block, kernels::Direction::Rowwise, x), 128 * 256 + 128 * 2 * 4);
  EXPECT_EQ(copy_bytes(block, kernels::Direction::Columnwise, x), 128 * 256 + 2 * 256 * 4);
}

}  // namespace
}  // namespace engine
