// The two grouped products of an expert layer as the linear steps that they are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/run_request.h"

namespace engine {

enum class Product : std::uint8_t;  // run_result.h

constexpr bool is_expert_layer(const RunRequest& request) {
  return request.step == StepKind::ExpertLayer;
}

/// What a linear layer and its tensors are called: tensor_symbol() of those that it reads and
/// writes.
struct LinearSymbols {
  const char* part = "";  // of a projection of an expert layer
  const char* x = "";
  const char* w = "";
  const char* b = "";
  const char* y = "";
  const char* dy = "";
  const char* dx = "";
  const char* dw = "";
  const char* db = "";
};
constexpr LinearSymbols symbols_of(StepKind step, Projection projection) {
  const ProjectionTensors tensors = tensors_of(step, projection);
  // Symbols are literals: they end with a zero.
  const auto symbol = [step](StepTensor tensor) { return tensor_symbol(step, tensor).data(); };
  return {.part = step == StepKind::Linear       ? ""
                  : projection == Projection::Up ? "up"
                                                 : "down",
          .x = symbol(tensors.x),
          .w = symbol(tensors.w),
          .b = symbol(tensors.b),
          .y = symbol(tensors.y),
          .dy = symbol(tensors.dy),
          .dx = symbol(tensors.dx),
          .dw = symbol(tensors.dw),
          .db = symbol(tensors.db)};
}
/// Columns of A, which the down projection reduces over.
std::int64_t activated_columns(const RunRequest& request);

/// A linear step. Up has the request's own shape, X and W; down has n = k, k =
/// activated_columns(), Wdown, its own scaling if recipes are mixed, and a seed of its own, so
/// that synthetic weights of the two differ. A layer whose step is only the backward pass needs
/// the forward one's tensors: its projections have both passes.
RunRequest projection_of(const RunRequest& request, Projection projection);

/// Operands of a linear step that another part of a larger step makes.
struct MadeOperands {
  bool activations = false;
  bool gradients = false;
};

/// A step as the linear steps that it consists of: itself, or both projections.
struct StepPart {
  RunRequest request;
  MadeOperands made = {};
  /// Of an expert layer that begins at tokens: so many rows are one row of the X and dY that are
  /// loaded.
  int rows_per_token = 1;

  /// The request as its operands are loaded.
  RunRequest loaded() const {
    RunRequest reading = request;
    reading.shape.rows /= rows_per_token;
    return reading;
  }
};
std::vector<StepPart> step_parts(const RunRequest& request);

/// A tensor of a step, for each expert; of tokens, the whole tensor.
struct TensorExtent {
  bool routed = false;    // an expert has the rows that are routed to it ...
  std::int64_t rows = 0;  // ... else these
  std::int64_t columns = 0;
  std::int64_t rows_of(std::int64_t split) const { return routed ? split : rows; }
};
TensorExtent extent_of(const RunRequest& request, StepTensor tensor);
/// Of all experts together.
std::int64_t total_rows(const RunRequest& request, StepTensor tensor,
                        std::span<const std::int64_t> splits);

/// The type of a tensor's elements before it is quantized.
ElementType element_of(const RunRequest& request, StepTensor tensor);

/// Whether a step with these settings has the tensor in one of its passes, or in the forward pass
/// that a backward-only step of an expert layer computes first.
bool has_tensor(const RunRequest& request, StepTensor tensor);

/// Tokens of an expert layer that begins at them.
constexpr std::int64_t tokens_of(const RunRequest& request) {
  const int top_k = request.expert_layer.top_k;
  return top_k == 0 ? 0 : request.shape.rows / top_k;
}

/// Useful FLOP of one routed row in a step, over all its layers and passes: 2 n k per product, no
/// padding, no activation.
double flop_of_row(const RunRequest& request);

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
/// An output of that product: "dX, layer 1", "H, layer 0".
std::string output_title(StepKind step, Product product, int linear_layer);

}  // namespace engine
