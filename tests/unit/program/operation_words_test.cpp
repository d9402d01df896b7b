// The words for a piece of a step's work.
#include "engine/program/operation_words.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/model/fields.h"
#include "engine/program/operations.h"

namespace engine {
namespace {

constexpr CopyForms kForms[] = {CopyForms::None, CopyForms::Rowwise, CopyForms::Columnwise,
                                CopyForms::Both};

TEST(WrittenValue, IsOneNumberOfEachTensorAndForm) {
  std::set<int> numbers;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kStepTensors.size(); ++i) {
    for (const CopyForms forms : kForms) {
      const auto tensor = static_cast<StepTensor>(i);
      const WrittenValue value = written(tensor, forms);
      EXPECT_TRUE(is_known(value));
      EXPECT_EQ(tensor_of(value), tensor);
      EXPECT_EQ(forms_of(value), forms);
      EXPECT_EQ(without_forms(value), written(tensor));
      numbers.insert(static_cast<int>(value));
      names.insert(name_of(value));
    }
  }
  EXPECT_EQ(numbers.size(), 4 * kStepTensors.size());
  EXPECT_EQ(names.size(), numbers.size());
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_FALSE(is_known(WrittenValue::Unknown));
  EXPECT_FALSE(is_known(static_cast<WrittenValue>(kWrittenValues)));
  EXPECT_EQ(name_of(written(StepTensor::WUp, CopyForms::Columnwise)), "w-up columnwise");
  EXPECT_EQ(name_of(WrittenValue::Unknown), "unknown");
}

TEST(OperationWords, NameTheWorkOfALayer) {
  const auto name = [](Stage stage, StepTensor tensor, CopyForms forms = CopyForms::None) {
    return operation_name(StepKind::ExpertLayer, stage, written(tensor, forms));
  };
  using enum StepTensor;
  EXPECT_EQ(name(Stage::Quantize, WUp, CopyForms::Columnwise), "quantize Wup, columnwise");
  EXPECT_EQ(name(Stage::Quantize, X, CopyForms::Rowwise), "quantize X, rowwise");
  EXPECT_EQ(name(Stage::Quantize, DH, CopyForms::Both), "quantize dH, rowwise and columnwise");
  EXPECT_EQ(name(Stage::Quantize, WDown), "round Wdown");
  EXPECT_EQ(name(Stage::Dequantize, A, CopyForms::Columnwise), "dequantize A, columnwise");
  EXPECT_EQ(name(Stage::Amax, A), "amax of A");
  EXPECT_EQ(name(Stage::Amax, DA), "alphas of dA");
  EXPECT_EQ(name(Stage::Fprop, H), "fprop up");
  EXPECT_EQ(name(Stage::Fprop, Y), "fprop down");
  EXPECT_EQ(name(Stage::Dgrad, DA), "dgrad down");
  EXPECT_EQ(name(Stage::Dgrad, DX), "dgrad up");
  EXPECT_EQ(name(Stage::Wgrad, DWDown), "wgrad down");
  EXPECT_EQ(name(Stage::Wgrad, DWUp), "wgrad up");
  EXPECT_EQ(name(Stage::Bias, H), "add bias to H");
  EXPECT_EQ(name(Stage::Bias, DBDown), "sum dbdown");
  EXPECT_EQ(name(Stage::Activation, A), "compute A");
  EXPECT_EQ(name(Stage::Activation, DH), "compute dH");
  EXPECT_EQ(name(Stage::Permute, X), "permute X");
  EXPECT_EQ(name(Stage::Unpermute, DXTokens), "unpermute dXt");
  EXPECT_EQ(name(Stage::Offsets, H), "fill arrays of up");
  EXPECT_EQ(name(Stage::Offsets, DA), "fill arrays of backward of down");
  EXPECT_EQ(name(Stage::Memory, WUp), "read Wup");
}

TEST(OperationWords, NameTheWorkOfALinearStep) {
  const auto name = [](Stage stage, StepTensor tensor, CopyForms forms = CopyForms::None) {
    return operation_name(StepKind::Linear, stage, written(tensor, forms));
  };
  using enum StepTensor;
  EXPECT_EQ(name(Stage::Quantize, WUp, CopyForms::Columnwise), "quantize W, columnwise");
  EXPECT_EQ(name(Stage::Fprop, Y), "fprop");
  EXPECT_EQ(name(Stage::Dgrad, DX), "dgrad");
  EXPECT_EQ(name(Stage::Wgrad, DWUp), "wgrad");
  EXPECT_EQ(name(Stage::Bias, DBUp), "sum db");
  EXPECT_EQ(name(Stage::Bias, Y), "add bias to Y");
  EXPECT_EQ(name(Stage::Offsets, Y), "fill arrays");
}

TEST(OperationWords, AreEmptyForWorkOfNoOperation) {
  EXPECT_EQ(operation_name(StepKind::Linear, Stage::Fprop, WrittenValue::Unknown), "");
  EXPECT_EQ(operation_name(StepKind::Linear, Stage::Check, written(StepTensor::Y)), "");
  EXPECT_EQ(operation_or_stage(StepKind::Linear, Stage::Fprop, WrittenValue::Unknown), "fprop");
  EXPECT_EQ(operation_or_stage(StepKind::ExpertLayer, Stage::Fprop, written(StepTensor::Y)),
            "fprop down");
  // Of a damaged record.
  EXPECT_EQ(operation_name(StepKind::Linear, Stage::Fprop, static_cast<WrittenValue>(255)), "");
}

TEST(OperationWords, TitlesHaveTheLayer) {
  const WrittenValue h = written(StepTensor::H);
  EXPECT_EQ(operation_title(StepKind::ExpertLayer, Stage::Fprop, h, 2), "fprop up, layer 1");
  EXPECT_EQ(operation_title(StepKind::Linear, Stage::Fprop, written(StepTensor::Y), 2),
            "fprop, layer 2");
  EXPECT_EQ(operation_title(StepKind::ExpertLayer, Stage::Fprop, WrittenValue::Unknown, 2),
            "fprop, layer 1, up");
}

TEST(OperationWords, AnOperationIsNamedByAllCopiesOfTheTensorThatItWrites) {
  const Operation both{.kind = OperationKind::Quantize,
                       .writes = {{.tensor = StepTensor::DY, .form = ValueForm::Rowwise},
                                  {.tensor = StepTensor::DY, .form = ValueForm::Columnwise}}};
  EXPECT_EQ(written_by(both), written(StepTensor::DY, CopyForms::Both));
  const Operation permute{.kind = OperationKind::Permute,
                          .writes = {{.tensor = StepTensor::X}, {.tensor = StepTensor::TokenMap}}};
  EXPECT_EQ(written_by(permute), written(StepTensor::X));
  EXPECT_EQ(written_by({.kind = OperationKind::FillArrays}), WrittenValue::Unknown);
}

}  // namespace
}  // namespace engine
