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
#include <string_view>

#include "engine/model/fields.h"
#include "engine/model/step_tensors.h"
#include "kernels/common/activation.h"

namespace engine {

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

}  // namespace engine
