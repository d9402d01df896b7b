// The operations that steps are made of: what each reads and writes, the stage that its time counts
// for, and how a reader calls it. engine/program/step_program.h lists a step's; the executors of
// both backends implement them one by one and decide nothing.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/model/stage.h"
#include "engine/model/step_tensors.h"
#include "engine/model/written_value.h"

namespace engine {

enum class OperationKind : std::uint8_t {
  FillArrays,          // row offsets, and the pointer arrays of grouped products
  FillBackwardArrays,  // those of backward, where it is captured as a graph of its own
  Permute,             // rows of experts from tokens, and the map of rows
  Round,               // a loaded operand to high precision, where nothing is quantized
  Quantize,            // an operand's copies
  Activate,            // A from H
  ActivateGradient,    // dH from H and dA
  Fprop,               // Y = X W^T
  Dgrad,               // dX = dY W
  Wgrad,               // dW = dY^T X
  AddBias,             // to Y
  SumBias,             // db from dY
  Unpermute,           // tokens from rows of Y, weighted by their probabilities
  PermuteGradient,     // rows of dY from the tokens' gradient, and dp
  UnpermuteGradient,   // the tokens' gradient from rows of dX
};

struct OperationTraits {
  /// Before what it writes: "unpermute dXt"; of graph nodes, kernel records and tables.
  std::string_view name;
  /// Of an explanation. sentence_of() (engine/program/explain.cpp) lists what stands in braces.
  std::string_view sentence;
  Stage stage = Stage::Other;
  /// Experts are independent of each other, so the host runs it expert by expert.
  bool by_expert = true;
  bool product = false;
  /// Makes rows from the same rows of other tensors, between the products of an expert layer.
  bool by_row = false;
  /// Writes copies of an operand in codes and scales.
  bool copies = false;
  /// What it writes exists only in a backward pass. Quantizing and rounding are in both passes.
  bool backward = false;
  /// Its bytes and FLOP are a rate of its stage.
  bool rated = false;
};

inline constexpr std::array<OperationTraits,
                            static_cast<std::size_t>(OperationKind::UnpermuteGradient) + 1>
    kOperations = {{
        {.name = "fill arrays",
         .sentence = "fill arrays{of_part}",
         .stage = Stage::Offsets,
         .by_expert = false},
        {.name = "fill arrays of backward",
         .sentence = "fill arrays of backward{of_part}",
         .stage = Stage::Offsets,
         .by_expert = false,
         .backward = true},
        {.name = "permute",
         .sentence = "permute Xt to the rows of X",
         .stage = Stage::Permute,
         .by_expert = false,
         .rated = true},
        {.name = "round",
         .sentence = "round {written} to {high_precision} if it is not",
         .stage = Stage::Quantize},
        {.name = "quantize",
         .sentence = "quantize {written}{again}{sources}, {forms}",
         .stage = Stage::Quantize,
         .copies = true,
         .rated = true},
        {.name = "compute",
         .sentence = "A = {activation}(H){comma_again}",
         .stage = Stage::Activation,
         .by_row = true},
        {.name = "compute",
         .sentence = "dH = {activation}'(H) dA",
         .stage = Stage::Activation,
         .by_row = true,
         .backward = true},
        {.name = "fprop",
         .sentence = "{y} = {x} {w}^T",
         .stage = Stage::Fprop,
         .product = true,
         .rated = true},
        {.name = "dgrad",
         .sentence = "{dx} = {dy} {w}",
         .stage = Stage::Dgrad,
         .product = true,
         .backward = true,
         .rated = true},
        {.name = "wgrad",
         .sentence = "{dw} {assigns_dw} {dy}^T {x}",
         .stage = Stage::Wgrad,
         .product = true,
         .backward = true,
         .rated = true},
        {.name = "add bias to", .sentence = "{y} += {b}", .stage = Stage::Bias},
        {.name = "sum",
         .sentence = "{db} = sum of {dy}'s rows{summed}",
         .stage = Stage::Bias,
         .backward = true},
        {.name = "unpermute",
         .sentence = "unpermute rows of Y to Yt",
         .stage = Stage::Unpermute,
         .by_expert = false,
         .rated = true},
        {.name = "permute",
         .sentence = "permute dYt to the rows of dY, and compute dp",
         .stage = Stage::Permute,
         .by_expert = false,
         .backward = true,
         .rated = true},
        {.name = "unpermute",
         .sentence = "unpermute rows of dX to dXt",
         .stage = Stage::Unpermute,
         .by_expert = false,
         .backward = true,
         .rated = true},
    }};

constexpr const OperationTraits& traits_of(OperationKind kind) {
  return kOperations[static_cast<std::size_t>(kind)];
}

/// The form in which a tensor exists: its elements, or a copy in codes and scales. Products read
/// rowwise copies in forward; in backward they read columnwise copies of W and X, and of dY for dW.
enum class ValueForm : std::uint8_t { Elements, Rowwise, Columnwise };

/// A tensor of one layer of a step, in one form.
struct Value {
  StepTensor tensor = StepTensor::X;
  ValueForm form = ValueForm::Elements;
  int layer = 0;  // of a tensor that all layers share: 0
  auto operator<=>(const Value&) const = default;
};

struct Operation {
  OperationKind kind = OperationKind::FillArrays;
  Projection projection = Projection::Up;  // a linear step is its up projection
  int layer = 0;
  OperandRole role = OperandRole::Activations;  // of Round and Quantize
  /// Of Quantize: its kernels also compute the activation, or its gradient, of what they read, so
  /// that no Activate or ActivateGradient writes it.
  bool activates = false;
  /// Of SumBias: the kernels that quantize dY have summed its rows in part, so that this operation
  /// reads no tensor and only adds their sums.
  bool summed_by_quantize = false;
  /// Backward computes it again, after forward has computed it for itself.
  bool again = false;
  std::vector<Value> reads = {};
  std::vector<Value> writes = {};  // first the one that it is named by

  const OperationTraits& traits() const { return traits_of(kind); }
  bool operator==(const Operation&) const = default;
};

constexpr CopyForms forms_of(ValueForm form) {
  return form == ValueForm::Rowwise      ? CopyForms::Rowwise
         : form == ValueForm::Columnwise ? CopyForms::Columnwise
                                         : CopyForms::None;
}
constexpr WrittenValue written(const Value& value) {
  return written(value.tensor, forms_of(value.form));
}
/// What its work is named by. Unknown for an operation that writes no tensor.
constexpr WrittenValue written_by(const Operation& operation) {
  if (operation.writes.empty()) return WrittenValue::Unknown;
  const StepTensor tensor = operation.writes.front().tensor;
  CopyForms forms = CopyForms::None;
  for (const Value& value : operation.writes) {
    if (value.tensor == tensor) forms = forms | forms_of(value.form);
  }
  return written(tensor, forms);
}

}  // namespace engine
