// An expert layer as two linear steps, and what counts them.
#include "engine/model/projections.h"

#include <gtest/gtest.h>

namespace engine {
namespace {

TEST(LayerWords, AnExpertLayerCountsItsProjections) {
  EXPECT_EQ(layer_words(StepKind::Linear, 1), "layer 1");
  EXPECT_EQ(layer_number(StepKind::Linear, 3), "3");
  EXPECT_EQ(layer_words(StepKind::ExpertLayer, 0), "layer 0, up");
  EXPECT_EQ(layer_words(StepKind::ExpertLayer, 1), "layer 0, down");
  EXPECT_EQ(layer_number(StepKind::ExpertLayer, 6), "3, up");
  RunRequest request;
  request.layers = 3;
  EXPECT_EQ(linear_layers(request), 3);
  request.step = StepKind::ExpertLayer;
  EXPECT_EQ(linear_layers(request), 6);
}

}  // namespace
}  // namespace engine
