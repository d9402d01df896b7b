// The two grouped products of an expert layer as the linear steps that they are.
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/run_request.h"

namespace engine {

constexpr bool is_expert_layer(const RunRequest& request) {
  return request.step == StepKind::ExpertLayer;
}

/// Columns of A, which the down projection reduces over.
std::int64_t activated_columns(const RunRequest& request);

/// A linear step. Up has the request's own shape, X and W; down has n = k, k = activated_columns(),
/// Wdown, its own scaling if recipes are mixed, and a seed of its own, so that synthetic weights of
/// the two differ. A layer whose step is only the backward pass needs the forward one's tensors:
/// its projections have both passes.
RunRequest projection_of(const RunRequest& request, Projection projection);

/// Columns of dY, and of Y.
constexpr std::int64_t output_columns(const RunRequest& request) {
  return is_expert_layer(request) ? request.shape.k : request.shape.n;
}

/// Products in a row in one step: WorkTag::layer, and what is recorded of it, counts these. 2 * i
/// is the up projection of expert layer i, 2 * i + 1 its down projection.
constexpr std::int64_t linear_layers(const RunRequest& request) {
  return std::int64_t{request.layers} * (is_expert_layer(request) ? 2 : 1);
}
constexpr Projection projection_at(int linear_layer) {
  return linear_layer % 2 == 0 ? Projection::Up : Projection::Down;
}

/// Such a count in words: "1"; of an expert layer "0, up".
std::string layer_number(StepKind step, int linear_layer);
/// "layer 1", "layer 0, up".
std::string layer_words(StepKind step, int linear_layer);

}  // namespace engine
