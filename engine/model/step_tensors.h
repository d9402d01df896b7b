// The tensors of a step, one row each: what a tensor is called, how large it is, what its elements
// are, and when a step has it. Linear steps and expert layers share the table: a linear step is one
// projection, and its Y and dY are those of the layer with other columns.
//
// Which operation reads and writes a tensor is in engine/program/operations.h; how long it is
// needed follows from there (engine/program/lives.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/model/fields.h"

namespace engine {

/// What one step computes, for each of its layers.
enum class StepKind {
  Linear,       // one grouped product
  ExpertLayer,  // two, with an activation in between
};
constexpr auto enum_names(StepKind) {
  return std::to_array<std::string_view>({"linear", "expert-layer"});
}

/// What a grouped product and its gradients read: X, W and dY.
enum class OperandRole { Activations, Weights, Gradients };
constexpr auto enum_names(OperandRole) {
  return std::to_array<std::string_view>({"activations", "weights", "gradients"});
}

/// A grouped product of an expert layer. A linear step has only the first.
enum class Projection : std::uint8_t { Up, Down };

/// The tensors of an expert layer, in the order in which a step makes or reads them. In a linear
/// step, W and dW are WUp and DWUp. The numbers are on the wire and in recordings, so a new tensor
/// is added at the end.
enum class StepTensor : std::uint8_t {
  X,
  WUp,
  H,
  A,
  WDown,
  Y,
  DY,
  DA,
  DH,
  DX,
  DWDown,
  DWUp,
  XTokens,
  YTokens,
  DYTokens,
  DXTokens,
  DProbabilities,
  BUp,
  BDown,
  DBUp,
  DBDown,
  Probabilities,
  TokenMap,
  Choices,
};
constexpr auto enum_names(StepTensor) {
  return std::to_array<std::string_view>({"x",
                                          "w-up",
                                          "h",
                                          "a",
                                          "w-down",
                                          "y",
                                          "dy",
                                          "da",
                                          "dh",
                                          "dx",
                                          "dw-down",
                                          "dw-up",
                                          "x-tokens",
                                          "y-tokens",
                                          "dy-tokens",
                                          "dx-tokens",
                                          "dprobabilities",
                                          "b-up",
                                          "b-down",
                                          "db-up",
                                          "db-down",
                                          "probabilities",
                                          "token-map",
                                          "choices"});
}

/// A number of rows or columns, in terms of the request's shape.
enum class TensorSide : std::uint8_t {
  Routed,     // rows that are routed to an expert
  One,        // a row of its own for every expert
  N,          // shape.n
  K,          // shape.k
  Activated,  // columns of A: shape.n, or half of it where the activation is gated
  Tokens,     // shape.rows / top_k; all experts together
  TopK,       // expert_layer.top_k
};

/// Which element type a tensor has.
enum class ElementRule : std::uint8_t {
  HighPrecision,   // Recipe::high_precision
  WeightGradient,  // ProductOptions::wgrad_type
  Fp32,
  Int32,
};

/// Which steps have a tensor, if their passes read or write it.
enum class TensorPresence : std::uint8_t {
  Always,
  Layer,      // an expert layer
  Bias,       // products.bias
  LayerBias,  // an expert layer with products.bias
  Tokens,     // an expert layer with top_k
};

struct StepTensorTraits {
  std::string_view symbol;               // "dWdown"
  std::string_view meaning;              // "gradient of the down projection's weights"
  TensorSide rows = TensorSide::Routed;  // of each expert; Tokens: of all of them
  TensorSide columns = TensorSide::K;
  TensorPresence present = TensorPresence::Always;
  ElementRule element = ElementRule::HighPrecision;
  bool backward = false;  // exists only in a backward pass
  /// All layers of a step read the same tensor, or each overwrites the tensor of the layer before.
  bool shared = false;
  bool output = false;           // the caller reads it after the step
  bool checked = false;          // the checks of a step read every layer's
  bool reported = true;          // has a row in the results of a layer
  std::string_view column = {};  // of an operand: begins the names of its columns in runs.csv
  // In a linear step, where it is something else:
  std::string_view linear_symbol = {};
  std::string_view linear_meaning = {};
  std::optional<TensorSide> linear_columns = {};

  /// Its rows are tokens, of all experts together.
  constexpr bool tokens() const { return rows == TensorSide::Tokens; }
};

inline constexpr std::array<StepTensorTraits, enum_names(StepTensor{}).size()> kStepTensors = {{
    {.symbol = "X", .meaning = "input of the layer", .shared = true, .column = "activations"},
    {.symbol = "Wup",
     .meaning = "weights of the up projection",
     .rows = TensorSide::N,
     .column = "weights",
     .linear_symbol = "W",
     .linear_meaning = "weights of the layer"},
    {.symbol = "H",
     .meaning = "output of the up projection",
     .columns = TensorSide::N,
     .present = TensorPresence::Layer,
     .checked = true},
    {.symbol = "A",
     .meaning = "activation of H",
     .columns = TensorSide::Activated,
     .present = TensorPresence::Layer,
     .column = "activated"},
    {.symbol = "Wdown",
     .meaning = "weights of the down projection",
     .rows = TensorSide::K,
     .columns = TensorSide::Activated,
     .present = TensorPresence::Layer,
     .column = "down_weights"},
    {.symbol = "Y",
     .meaning = "output of the layer",
     .output = true,
     .linear_columns = TensorSide::N},
    {.symbol = "dY",
     .meaning = "gradient of Y",
     .backward = true,
     .shared = true,
     .column = "gradients",
     .linear_columns = TensorSide::N},
    {.symbol = "dA",
     .meaning = "gradient of A",
     .columns = TensorSide::Activated,
     .present = TensorPresence::Layer,
     .backward = true},
    {.symbol = "dH",
     .meaning = "gradient of H",
     .columns = TensorSide::N,
     .present = TensorPresence::Layer,
     .backward = true,
     .column = "inner_gradients"},
    {.symbol = "dX", .meaning = "gradient of X", .backward = true, .output = true},
    {.symbol = "dWdown",
     .meaning = "gradient of the down projection's weights",
     .rows = TensorSide::K,
     .columns = TensorSide::Activated,
     .present = TensorPresence::Layer,
     .element = ElementRule::WeightGradient,
     .backward = true,
     .output = true},
    {.symbol = "dWup",
     .meaning = "gradient of the up projection's weights",
     .rows = TensorSide::N,
     .element = ElementRule::WeightGradient,
     .backward = true,
     .output = true,
     .linear_symbol = "dW",
     .linear_meaning = "gradient of the weights"},
    {.symbol = "Xt",
     .meaning = "tokens that the layer reads",
     .rows = TensorSide::Tokens,
     .present = TensorPresence::Tokens,
     .shared = true},
    {.symbol = "Yt",
     .meaning = "tokens that the layer makes",
     .rows = TensorSide::Tokens,
     .present = TensorPresence::Tokens,
     .output = true},
    {.symbol = "dYt",
     .meaning = "gradient of Yt",
     .rows = TensorSide::Tokens,
     .present = TensorPresence::Tokens,
     .backward = true,
     .shared = true},
    {.symbol = "dXt",
     .meaning = "gradient of Xt",
     .rows = TensorSide::Tokens,
     .present = TensorPresence::Tokens,
     .backward = true,
     .output = true},
    {.symbol = "dp",
     .meaning = "gradient of the probabilities",
     .rows = TensorSide::Tokens,
     .columns = TensorSide::TopK,
     .present = TensorPresence::Tokens,
     .element = ElementRule::Fp32,
     .backward = true,
     .output = true},
    {.symbol = "bup",
     .meaning = "bias of the up projection",
     .rows = TensorSide::One,
     .columns = TensorSide::N,
     .present = TensorPresence::Bias,
     .reported = false,
     .linear_symbol = "b",
     .linear_meaning = "bias of the layer"},
    {.symbol = "bdown",
     .meaning = "bias of the down projection",
     .rows = TensorSide::One,
     .present = TensorPresence::LayerBias,
     .reported = false},
    {.symbol = "dbup",
     .meaning = "gradient of the up projection's bias",
     .rows = TensorSide::One,
     .columns = TensorSide::N,
     .present = TensorPresence::Bias,
     .backward = true,
     .output = true,
     .reported = false,
     .linear_symbol = "db",
     .linear_meaning = "gradient of the bias"},
    {.symbol = "dbdown",
     .meaning = "gradient of the down projection's bias",
     .rows = TensorSide::One,
     .present = TensorPresence::LayerBias,
     .backward = true,
     .output = true,
     .reported = false},
    {.symbol = "p",
     .meaning = "probabilities of the chosen experts",
     .rows = TensorSide::Tokens,
     .columns = TensorSide::TopK,
     .present = TensorPresence::Tokens,
     .element = ElementRule::Fp32,
     .shared = true,
     .reported = false},
    {.symbol = "row map",
     .meaning = "row of every copy of a token",
     .rows = TensorSide::Tokens,
     .columns = TensorSide::TopK,
     .present = TensorPresence::Tokens,
     .element = ElementRule::Int32,
     .shared = true,
     .reported = false},
    {.symbol = "experts",
     .meaning = "experts that every token has chosen",
     .rows = TensorSide::Tokens,
     .columns = TensorSide::TopK,
     .present = TensorPresence::Tokens,
     .element = ElementRule::Int32,
     .shared = true,
     .reported = false},
}};

constexpr const StepTensorTraits& traits_of(StepTensor tensor) {
  return kStepTensors[static_cast<std::size_t>(tensor)];
}

/// Symbol of a tensor in such a step: "W" in a linear step, "Wup" in an expert layer.
constexpr std::string_view tensor_symbol(StepKind step, StepTensor tensor) {
  const StepTensorTraits& traits = traits_of(tensor);
  const bool own = step == StepKind::Linear && !traits.linear_symbol.empty();
  return own ? traits.linear_symbol : traits.symbol;
}

/// What a tensor is in such a step: "weights of the layer" in a linear step, "weights of the up
/// projection" in an expert layer.
constexpr std::string_view tensor_meaning(StepKind step, StepTensor tensor) {
  const StepTensorTraits& traits = traits_of(tensor);
  const bool own = step == StepKind::Linear && !traits.linear_meaning.empty();
  return own ? traits.linear_meaning : traits.meaning;
}

/// The tensors that the grouped products of one projection read and write: Y = X W^T (+ b),
/// dX = dY W, dW = dY^T X, db = sum of dY's rows.
struct ProjectionTensors {
  StepTensor x = StepTensor::X;
  StepTensor w = StepTensor::WUp;
  StepTensor b = StepTensor::BUp;
  StepTensor y = StepTensor::Y;
  StepTensor dy = StepTensor::DY;
  StepTensor dx = StepTensor::DX;
  StepTensor dw = StepTensor::DWUp;
  StepTensor db = StepTensor::DBUp;

  constexpr StepTensor operand(OperandRole role) const {
    return role == OperandRole::Activations ? x : role == OperandRole::Weights ? w : dy;
  }
};

constexpr ProjectionTensors tensors_of(StepKind step, Projection projection) {
  if (step == StepKind::Linear) return {};
  if (projection == Projection::Up) return {.y = StepTensor::H, .dy = StepTensor::DH};
  return {.x = StepTensor::A,
          .w = StepTensor::WDown,
          .b = StepTensor::BDown,
          .dx = StepTensor::DA,
          .dw = StepTensor::DWDown,
          .db = StepTensor::DBDown};
}

/// Role of a tensor for the projection whose products read it; it is quantized if the recipe of the
/// projection quantizes.
struct TensorOperand {
  Projection projection = Projection::Up;
  OperandRole role = OperandRole::Activations;
  bool operator==(const TensorOperand&) const = default;
};

/// Empty for a tensor that no product reads.
constexpr std::optional<TensorOperand> operand_of(StepKind step, StepTensor tensor) {
  for (const Projection projection : {Projection::Up, Projection::Down}) {
    if (step == StepKind::Linear && projection == Projection::Down) continue;
    for (const OperandRole role :
         {OperandRole::Activations, OperandRole::Weights, OperandRole::Gradients}) {
      if (tensors_of(step, projection).operand(role) == tensor)
        return TensorOperand{projection, role};
    }
  }
  return std::nullopt;
}

/// Every tensor that products of such a step can read. Those of an expert layer include those of a
/// linear step.
constexpr std::vector<StepTensor> operands_of(StepKind step) {
  std::vector<StepTensor> operands;
  for (std::size_t i = 0; i < kStepTensors.size(); ++i) {
    const auto tensor = static_cast<StepTensor>(i);
    if (operand_of(step, tensor)) operands.push_back(tensor);
  }
  return operands;
}

}  // namespace engine
