// How long values are needed, against what each pass of a hand-checked step reads.
#include <gtest/gtest.h>

#include "engine/program/lives.h"
#include "tests/unit/program/device_layer.h"

namespace engine {
namespace {

RunRequest unfused_layer() {
  RunRequest request = testing::device_layer(3);
  request.expert_layer.fused_activation = false;
  return request;
}

using enum StepTensor;
using enum ValueForm;

TEST(ProgramLives, CodesOfAAreKeptSoItsElementsAreNot) {
  const StepProgram program = program_of(unfused_layer());
  EXPECT_EQ(life_of(program, X), std::nullopt);
  EXPECT_EQ(life_of(program, H), BufferLife::Saved);
  EXPECT_EQ(life_of(program, A), BufferLife::Forward);
  EXPECT_EQ(life_of(program, A, Rowwise), BufferLife::Forward);
  EXPECT_EQ(life_of(program, A, Columnwise), BufferLife::Saved);
  EXPECT_EQ(life_of(program, DA), BufferLife::Backward);
  EXPECT_EQ(life_of(program, DH, Columnwise), BufferLife::Backward);
  EXPECT_EQ(life_of(program, WDown, Columnwise), BufferLife::Step);
  EXPECT_EQ(life_of(program, DX), BufferLife::Step);
  EXPECT_EQ(places_of(program, A), 1);
  EXPECT_EQ(places_of(program, DA), 1);
  EXPECT_EQ(places_of(program, DH), 1);
  EXPECT_EQ(places_of(program, H), 3);
  EXPECT_EQ(places_of(program, X), 1);
}

TEST(ProgramLives, UnquantizedWeightGradientsReadAItself) {
  RunRequest request = unfused_layer();
  request.recipe.scaling = Scaling::None;
  StepProgram program = program_of(request);
  EXPECT_EQ(life_of(program, A), BufferLife::Saved);
  EXPECT_EQ(places_of(program, A), 3);
  EXPECT_EQ(places_of(program, DH), 1);
  // Computed again, one layer's A is there at a time, in both passes.
  request.expert_layer.recompute_activation = true;
  program = program_of(request);
  EXPECT_EQ(life_of(program, A), BufferLife::Saved);
  EXPECT_EQ(places_of(program, A), 1);
  request.products.delayed_wgrad = true;
  EXPECT_EQ(places_of(program_of(request), DH), 3);
}

TEST(ProgramLives, ARecomputedActivationKeepsNoCodes) {
  RunRequest request = unfused_layer();
  request.expert_layer.recompute_activation = true;
  const StepProgram program = program_of(request);
  EXPECT_EQ(life_of(program, A, Columnwise), BufferLife::Backward);
  EXPECT_FALSE(is_saved(program, {.tensor = A, .form = Columnwise}));
  EXPECT_TRUE(is_saved(program, {.tensor = H}));
  EXPECT_TRUE(is_saved(program, {.tensor = X, .form = Columnwise}));
}

TEST(ProgramLives, AFusedActivationIsNeverMade) {
  RunRequest request = unfused_layer();
  request.expert_layer.fused_activation = true;
  const StepProgram program = program_of(request);
  EXPECT_FALSE(makes(program, A));
  EXPECT_FALSE(makes(program, DH));
  EXPECT_TRUE(makes(program, A, Columnwise));
}

TEST(ProgramLives, RowsOfTokensAreMadeByTheStep) {
  RunRequest request = unfused_layer();
  request.expert_layer.top_k = 2;
  StepProgram program = program_of(request);
  EXPECT_EQ(life_of(program, XTokens), std::nullopt);
  EXPECT_EQ(life_of(program, X), BufferLife::Forward);
  EXPECT_EQ(life_of(program, DY), BufferLife::Backward);
  EXPECT_EQ(life_of(program, TokenMap), BufferLife::Saved);
  request.recipe.scaling = Scaling::None;
  EXPECT_EQ(life_of(program_of(request), X), BufferLife::Saved);
}

}  // namespace
}  // namespace engine
