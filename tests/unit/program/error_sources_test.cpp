#include "engine/program/error_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RunRequest layer_request(Scaling scaling, StepPasses passes) {
  RunRequest request;
  request.step = StepKind::ExpertLayer;
  request.recipe.scaling = scaling;
  request.products.passes = passes;
  return request;
}

std::vector<StepTensor> sources(const RunRequest& request) {
  return error_sources(program_of(request));
}

TEST(ErrorSources, AreTheOperandsThatForwardQuantizes) {
  using enum StepTensor;
  const RunRequest both = layer_request(Scaling::Block, StepPasses::ForwardBackward);
  EXPECT_THAT(sources(both), ElementsAre(X, WUp, A, WDown)) << "no gradient is one";
  RunRequest several = both;
  several.layers = 3;
  several.launch.in_flight = 2;
  EXPECT_THAT(sources(several), ElementsAre(X, WUp, A, WDown)) << "of one layer";
  RunRequest again = both;
  again.expert_layer.recompute_activation = true;
  EXPECT_THAT(sources(again), ElementsAre(X, WUp, A, WDown)) << "A once";
}

TEST(ErrorSources, AProjectionWithoutCodesHasNone) {
  using enum StepTensor;
  RunRequest mixed = layer_request(Scaling::Block, StepPasses::Forward);
  mixed.expert_layer.mixed_recipes = true;
  mixed.expert_layer.down_scaling = Scaling::None;
  EXPECT_THAT(sources(mixed), ElementsAre(X, WUp));
  EXPECT_THAT(sources(layer_request(Scaling::None, StepPasses::Forward)), IsEmpty());
}

TEST(ErrorSources, BackwardAloneHasNoY) {
  EXPECT_THAT(sources(layer_request(Scaling::Block, StepPasses::Backward)), IsEmpty());
}

}  // namespace
}  // namespace engine
