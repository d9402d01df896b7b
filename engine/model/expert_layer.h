// What an expert layer is made of. For every expert, with the rows routed to it:
//
//   H = X Wup^T (+ b)     up projection; of a gated activation both halves, gate then up
//   A = activation(H)
//   Y = A Wdown^T (+ b)   down projection
//
// and backward dA = dY Wdown, dH = activation'(H) dA, dX = dH Wup, dWdown = dY^T A, dWup = dH^T X.
//
// With top_k the step begins and ends at tokens. A row of X is a copy of its token in Xt, and a
// token in Yt the sum of its rows of Y, each times its probability p. Backward, a row of dY is p
// times its token's dYt, dp the product of that token and the row of Y, and a token in dXt the sum
// of its rows of dX.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/model/fields.h"
#include "kernels/common/activation.h"

namespace engine {

/// What one step computes, for each of its layers.
enum class StepKind {
  Linear,       // one grouped product
  ExpertLayer,  // two, with an activation in between
};
constexpr auto enum_names(StepKind) {
  return std::to_array<std::string_view>({"linear", "expert-layer"});
}

/// Named as in Transformer Engine.
enum class LayerActivation {
  SwiGlu,
  ClampedSwiGlu,  // of gpt-oss
  GeGlu,
  QGeGlu,
  ReGlu,
  SReGlu,
  Silu,
  Gelu,
  QGelu,
  Relu,
  SRelu,
};
constexpr auto enum_names(LayerActivation) {
  return std::to_array<std::string_view>({"swiglu", "clamped-swiglu", "geglu", "qgeglu", "reglu",
                                          "sreglu", "silu", "gelu", "qgelu", "relu", "srelu"});
}

struct ActivationTraits {
  std::string_view label;  // in the window
  kernels::Activation formula = {};

  /// Columns of H for each column of A.
  constexpr int halves() const { return formula.gated ? 2 : 1; }
};

inline constexpr std::array<ActivationTraits, enum_names(LayerActivation{}).size()>
    kActivationTraits = {{
        {.label = "SwiGLU", .formula = kernels::kSwiglu},
        {.label = "Clamped SwiGLU", .formula = kernels::kClampedSwiglu},
        {.label = "GeGLU",
         .formula = {.function = kernels::ActivationFunction::Gelu, .gated = true}},
        {.label = "Quick GeGLU",
         .formula = {.function = kernels::ActivationFunction::Silu,
                     .gated = true,
                     .slope = kernels::kQuickGeluSlope}},
        {.label = "ReGLU",
         .formula = {.function = kernels::ActivationFunction::Relu, .gated = true}},
        {.label = "Squared ReGLU",
         .formula = {.function = kernels::ActivationFunction::SquaredRelu, .gated = true}},
        {.label = "SiLU", .formula = {.function = kernels::ActivationFunction::Silu}},
        {.label = "GELU", .formula = {.function = kernels::ActivationFunction::Gelu}},
        {.label = "Quick GELU",
         .formula = {.function = kernels::ActivationFunction::Silu,
                     .slope = kernels::kQuickGeluSlope}},
        {.label = "ReLU", .formula = {.function = kernels::ActivationFunction::Relu}},
        {.label = "Squared ReLU",
         .formula = {.function = kernels::ActivationFunction::SquaredRelu}},
    }};

constexpr const ActivationTraits& traits_of(LayerActivation activation) {
  return kActivationTraits[static_cast<std::size_t>(activation)];
}

/// What a grouped product and its gradients read: X, W and dY.
enum class OperandRole { Activations, Weights, Gradients };
constexpr auto enum_names(OperandRole) {
  return std::to_array<std::string_view>({"activations", "weights", "gradients"});
}

/// Which grouped product of an expert layer.
enum class Projection : std::uint8_t { Up, Down };

/// The tensors of an expert layer, in the order in which a step makes or reads them.
/// Those of tokens come last: numbers are on the wire.
enum class LayerTensor : std::uint8_t {
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
};
constexpr auto enum_names(LayerTensor) {
  return std::to_array<std::string_view>({"x", "w-up", "h", "a", "w-down", "y", "dy", "da", "dh",
                                          "dx", "dw-down", "dw-up", "x-tokens", "y-tokens",
                                          "dy-tokens", "dx-tokens", "dprobabilities"});
}

/// What a tensor is to the projection whose products read it, quantized if its recipe quantizes.
struct LayerOperand {
  Projection projection = Projection::Up;
  OperandRole role = OperandRole::Activations;
};

struct LayerTensorTraits {
  std::string_view symbol;   // "dWdown"
  std::string_view meaning;  // "gradient of the down projection's weights"
  std::optional<LayerOperand> operand = {};
  bool backward = false;  // exists only in a backward pass
  bool tokens = false;    // exists only with top_k, and has no experts
};

inline constexpr std::array<LayerTensorTraits, enum_names(LayerTensor{}).size()> kLayerTensors = {{
    {.symbol = "X",
     .meaning = "input of the layer",
     .operand = LayerOperand{Projection::Up, OperandRole::Activations}},
    {.symbol = "Wup",
     .meaning = "weights of the up projection",
     .operand = LayerOperand{Projection::Up, OperandRole::Weights}},
    {.symbol = "H", .meaning = "output of the up projection"},
    {.symbol = "A",
     .meaning = "activation of H",
     .operand = LayerOperand{Projection::Down, OperandRole::Activations}},
    {.symbol = "Wdown",
     .meaning = "weights of the down projection",
     .operand = LayerOperand{Projection::Down, OperandRole::Weights}},
    {.symbol = "Y", .meaning = "output of the layer"},
    {.symbol = "dY",
     .meaning = "gradient of Y",
     .operand = LayerOperand{Projection::Down, OperandRole::Gradients},
     .backward = true},
    {.symbol = "dA", .meaning = "gradient of A", .backward = true},
    {.symbol = "dH",
     .meaning = "gradient of H",
     .operand = LayerOperand{Projection::Up, OperandRole::Gradients},
     .backward = true},
    {.symbol = "dX", .meaning = "gradient of X", .backward = true},
    {.symbol = "dWdown", .meaning = "gradient of the down projection's weights", .backward = true},
    {.symbol = "dWup", .meaning = "gradient of the up projection's weights", .backward = true},
    {.symbol = "Xt", .meaning = "tokens that the layer reads", .tokens = true},
    {.symbol = "Yt", .meaning = "tokens that the layer makes", .tokens = true},
    {.symbol = "dYt", .meaning = "gradient of Yt", .backward = true, .tokens = true},
    {.symbol = "dXt", .meaning = "gradient of Xt", .backward = true, .tokens = true},
    {.symbol = "dp", .meaning = "gradient of the probabilities", .backward = true, .tokens = true},
}};

constexpr const LayerTensorTraits& traits_of(LayerTensor tensor) {
  return kLayerTensors[static_cast<std::size_t>(tensor)];
}

}  // namespace engine
