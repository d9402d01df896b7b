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
    for (std::size_t i = 0; i < kStepTensors.size(); ++i) {
      const auto tensor = static_cast<StepTensor>(i);
      EXPECT_TRUE(symbols.insert(tensor_symbol(step, tensor)).second) << kStepTensors[i].symbol;
      EXPECT_FALSE(kStepTensors[i].meaning.empty());
    }
  }
}

TEST(TensorTable, ALinearStepHasNoProjections) {
  RunRequest request;
  request.products.passes = StepPasses::ForwardBackward;
  request.products.bias = true;
  for (std::size_t i = 0; i < kStepTensors.size(); ++i) {
    const auto tensor = static_cast<StepTensor>(i);
    if (!has_tensor(request, tensor)) continue;
    const std::string_view meaning = tensor_meaning(StepKind::Linear, tensor);
    EXPECT_EQ(meaning.find("projection"), std::string_view::npos) << meaning;
  }
  EXPECT_EQ(tensor_meaning(StepKind::Linear, StepTensor::WUp), "weights of the layer");
  EXPECT_EQ(tensor_meaning(StepKind::ExpertLayer, StepTensor::WUp), "weights of the up projection");
}

TEST(TensorTable, TheOperandsOfAStepAreThoseOfItsProjections) {
  EXPECT_EQ(operand_of(StepKind::ExpertLayer, StepTensor::DY),
            (TensorOperand{Projection::Down, OperandRole::Gradients}));
  EXPECT_EQ(operand_of(StepKind::ExpertLayer, StepTensor::DH),
            (TensorOperand{Projection::Up, OperandRole::Gradients}));
  EXPECT_EQ(operand_of(StepKind::Linear, StepTensor::DY),
            (TensorOperand{Projection::Up, OperandRole::Gradients}));
  EXPECT_EQ(operand_of(StepKind::Linear, StepTensor::A), std::nullopt);
  EXPECT_EQ(operand_of(StepKind::ExpertLayer, StepTensor::Y), std::nullopt);
}

TEST(TensorTable, ExtentsFollowTheShape) {
  RunRequest request;
  request.shape = {.preset = {}, .num_experts = 2, .rows = 128, .n = 512, .k = 256};
  EXPECT_EQ(extent_of(request, StepTensor::Y).columns, 512);
  EXPECT_EQ(extent_of(request, StepTensor::DBUp).columns, 512);
  request.step = StepKind::ExpertLayer;
  request.expert_layer.top_k = 2;
  EXPECT_EQ(extent_of(request, StepTensor::Y).columns, 256);
  EXPECT_EQ(extent_of(request, StepTensor::A).columns, 256);  // half of H: SwiGLU is gated
  EXPECT_EQ(extent_of(request, StepTensor::WDown).rows, 256);
  EXPECT_EQ(extent_of(request, StepTensor::XTokens).rows, 64);
  EXPECT_EQ(extent_of(request, StepTensor::Probabilities).columns, 2);
}

TEST(TensorTable, ElementsAreAsWideAsTheirRule) {
  RunRequest request;
  request.recipe.high_precision = ElementType::Fp16;
  request.products.wgrad_type = ElementType::Fp32;
  EXPECT_EQ(element_bytes(request, StepTensor::X), 2);
  EXPECT_EQ(element_bytes(request, StepTensor::DWUp), 4);
  EXPECT_EQ(element_bytes(request, StepTensor::Probabilities), 4);
  EXPECT_EQ(element_bytes(request, StepTensor::TokenMap), 4);
  request.products.wgrad_type = ElementType::Fp16;
  EXPECT_EQ(element_bytes(request, StepTensor::DWUp), 2);
  EXPECT_EQ(element_bytes(request, StepTensor::TokenMap), 4);
}

TEST(TensorTable, AStepHasWhatItsSettingsAskFor) {
  RunRequest request;
  EXPECT_FALSE(has_tensor(request, StepTensor::DX));
  EXPECT_FALSE(has_tensor(request, StepTensor::BUp));
  EXPECT_FALSE(has_tensor(request, StepTensor::H));
  request.products.passes = StepPasses::ForwardBackward;
  request.products.bias = true;
  EXPECT_TRUE(has_tensor(request, StepTensor::DX));
  EXPECT_TRUE(has_tensor(request, StepTensor::DBUp));
  EXPECT_FALSE(has_tensor(request, StepTensor::DBDown));
  request.step = StepKind::ExpertLayer;
  EXPECT_TRUE(has_tensor(request, StepTensor::DBDown));
  EXPECT_FALSE(has_tensor(request, StepTensor::YTokens));
}

}  // namespace
}  // namespace engine
