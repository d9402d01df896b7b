// The tensor table agrees with itself: names, projections and roles.
#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "engine/model/projections.h"

namespace engine {
namespace {

TEST(TensorTable, SymbolsOfAStepAreDifferent) {
  for (const StepKind step : {StepKind::Linear, StepKind::ExpertLayer}) {
    std::set<std::string_view> symbols;
    for (std::size_t i = 0; i < kLayerTensors.size(); ++i) {
      const auto tensor = static_cast<LayerTensor>(i);
      EXPECT_TRUE(symbols.insert(tensor_symbol(step, tensor)).second) << kLayerTensors[i].symbol;
      EXPECT_FALSE(kLayerTensors[i].meaning.empty());
    }
  }
}

TEST(TensorTable, TheOperandsOfAStepAreThoseOfItsProjections) {
  EXPECT_EQ(operand_of(StepKind::ExpertLayer, LayerTensor::DY),
            (LayerOperand{Projection::Down, OperandRole::Gradients}));
  EXPECT_EQ(operand_of(StepKind::ExpertLayer, LayerTensor::DH),
            (LayerOperand{Projection::Up, OperandRole::Gradients}));
  EXPECT_EQ(operand_of(StepKind::Linear, LayerTensor::DY),
            (LayerOperand{Projection::Up, OperandRole::Gradients}));
  EXPECT_EQ(operand_of(StepKind::Linear, LayerTensor::A), std::nullopt);
  EXPECT_EQ(operand_of(StepKind::ExpertLayer, LayerTensor::Y), std::nullopt);
}

TEST(TensorTable, ExtentsFollowTheShape) {
  RunRequest request;
  request.shape = {.preset = {}, .num_experts = 2, .tokens = 128, .n = 512, .k = 256};
  EXPECT_EQ(extent_of(request, LayerTensor::Y).columns, 512);
  EXPECT_EQ(extent_of(request, LayerTensor::DBUp).columns, 512);
  request.step = StepKind::ExpertLayer;
  request.expert_layer.top_k = 2;
  EXPECT_EQ(extent_of(request, LayerTensor::Y).columns, 256);
  EXPECT_EQ(extent_of(request, LayerTensor::A).columns, 256);  // half of H: SwiGLU is gated
  EXPECT_EQ(extent_of(request, LayerTensor::WDown).rows, 256);
  EXPECT_EQ(extent_of(request, LayerTensor::XTokens).rows, 64);
  EXPECT_EQ(extent_of(request, LayerTensor::Probabilities).columns, 2);
}

TEST(TensorTable, AStepHasWhatItsSettingsAskFor) {
  RunRequest request;
  EXPECT_FALSE(has_tensor(request, LayerTensor::DX));
  EXPECT_FALSE(has_tensor(request, LayerTensor::BUp));
  EXPECT_FALSE(has_tensor(request, LayerTensor::H));
  request.linear.passes = StepPasses::ForwardBackward;
  request.linear.bias = true;
  EXPECT_TRUE(has_tensor(request, LayerTensor::DX));
  EXPECT_TRUE(has_tensor(request, LayerTensor::DBUp));
  EXPECT_FALSE(has_tensor(request, LayerTensor::DBDown));
  request.step = StepKind::ExpertLayer;
  EXPECT_TRUE(has_tensor(request, LayerTensor::DBDown));
  EXPECT_FALSE(has_tensor(request, LayerTensor::YTokens));
}

}  // namespace
}  // namespace engine
