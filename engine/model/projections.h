// The two grouped products of an expert layer, as linear steps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/run_request.h"

namespace engine {

enum class Product : std::uint8_t;  // run_result.h

constexpr bool is_expert_layer(const RunRequest& request) {
  return request.step == StepKind::ExpertLayer;
}

/// Symbols of a linear layer's tensors: tensor_symbol() of those that it reads and writes.
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

/// The projection as a linear step. Up has the request's shape, X and W. Down has n = k, k =
/// activated_columns(), Wdown, its own scaling if recipes are mixed, and another seed, so that
/// synthetic weights of the two differ. A layer whose step is only the backward pass needs the
/// tensors of a forward step, so its projections have both passes.
RunRequest projection_of(const RunRequest& request, Projection projection);

/// Operands of a linear step that another part of a larger step makes.
struct MadeOperands {
  bool activations = false;
  bool gradients = false;
};

/// A linear step that a step consists of: the step itself, or one of its two projections.
struct StepPart {
  RunRequest request;
  MadeOperands made = {};
  /// In an expert layer that begins at tokens, this many rows belong to one row of the X and dY
  /// that are loaded.
  int rows_per_token = 1;

  /// The request as its operands are loaded.
  RunRequest loaded() const {
    RunRequest reading = request;
    reading.shape.rows /= rows_per_token;
    return reading;
  }
};
std::vector<StepPart> step_parts(const RunRequest& request);

/// Extent of a tensor of a step, for each expert; for tokens, of the whole tensor.
struct TensorExtent {
  bool routed = false;    // an expert has the rows that are routed to it ...
  std::int64_t rows = 0;  // ... else these
  std::int64_t columns = 0;
  std::int64_t rows_of(std::int64_t split) const { return routed ? split : rows; }
};
TensorExtent extent_of(const RunRequest& request, StepTensor tensor);
/// Rows of all experts together.
std::int64_t total_rows(const RunRequest& request, StepTensor tensor,
                        std::span<const std::int64_t> splits);

/// Type of a tensor's elements before it is quantized. Empty for a map, whose elements are int32.
std::optional<ElementType> element_of(const RunRequest& request, StepTensor tensor);
/// Bytes of one of them, of a map too.
std::int64_t element_bytes(const RunRequest& request, StepTensor tensor);

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

/// Number of consecutive products in one step. WorkTag::layer, and what is recorded with it, counts
/// these: 2 * i is the up projection of expert layer i, 2 * i + 1 its down projection.
constexpr std::int64_t linear_layers(const RunRequest& request) {
  return std::int64_t{request.layers} * (is_expert_layer(request) ? 2 : 1);
}
constexpr Projection projection_at(int linear_layer) {
  return linear_layer % 2 == 0 ? Projection::Up : Projection::Down;
}

/// Text of such a number: "1", or "0, up" in an expert layer.
std::string layer_number(StepKind step, int linear_layer);
/// "layer 1", "layer 0, up".
std::string layer_words(StepKind step, int linear_layer);
/// An output of that product: "dX, layer 1", "H, layer 0".
std::string output_title(StepKind step, Product product, int linear_layer);

}  // namespace engine
