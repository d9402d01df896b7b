// Tokens of an expert layer and their copies in the order of the experts, as the CPU permutes them:
// all experts at once, by the kernels' twins.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/backend/cpu/loaded_operands.h"
#include "engine/backend/cpu/machine.h"
#include "engine/input/token_routing.h"
#include "engine/model/run_request.h"
#include "engine/observe/step_observer.h"
#include "engine/program/operation_words.h"
#include "kernels/permute/permute.h"

namespace engine {

/// In high precision unless noted, kept between runs. `rows`: shape.rows; a `token` has top_k.
struct TokenBuffers {
  Buffer<std::uint16_t> x_tokens;             // [tokens, k]
  Buffer<std::uint16_t> dy_tokens;            // [tokens, k]
  Buffer<std::uint16_t> x, dy;                // [rows, k]
  Buffer<std::uint16_t> y, dx;                // [layers, rows, k]
  Buffer<std::uint16_t> y_tokens, dx_tokens;  // [layers, tokens, k]
  Buffer<float> probability_gradients;        // [layers, tokens, top_k]
};

class TokenRows {
 public:
  struct Setup {
    const RunRequest& request;  // of the layer
    std::shared_ptr<const TokenRouting> routing;
    const TensorSource& x;         // [tokens, k]
    const TensorSource* gradient;  // dYt [tokens, k], for a backward pass
    TokenBuffers& buffers;
    RunContext context;
  };
  explicit TokenRows(const Setup& setup);

  /// The experts that tokens choose from now on.
  void set_splits(const std::vector<std::int64_t>& splits, std::size_t step);
  const TokenRouting& routing() const { return *setup_.routing; }
  const std::vector<std::int32_t>& copy_rows() const { return copy_rows_; }

  /// The map, and X.
  void permute();
  /// Yt of that layer.
  void unpermute(int layer);
  /// dY, and dp of that layer.
  void permute_gradient(int layer);
  /// dY alone, which needs no Y.
  void permute_gradient();
  /// dXt of that layer.
  void unpermute_gradient(int layer);

  std::uint16_t* x() const { return setup_.buffers.x.get(); }
  std::uint16_t* dy() const { return setup_.buffers.dy.get(); }
  std::uint16_t* y(int layer) const { return setup_.buffers.y.get() + layer * row_elements(); }
  std::uint16_t* dx(int layer) const { return setup_.buffers.dx.get() + layer * row_elements(); }
  const std::uint16_t* y_tokens(int layer) const {
    return setup_.buffers.y_tokens.get() + layer * token_elements();
  }
  const std::uint16_t* dx_tokens(int layer) const {
    return setup_.buffers.dx_tokens.get() + layer * token_elements();
  }
  const float* probability_gradients(int layer) const {
    return setup_.buffers.probability_gradients.get() + layer * copies();
  }

 private:
  std::int64_t copies() const { return routing().tokens() * routing().top_k(); }
  std::int64_t row_elements() const { return setup_.request.shape.rows * columns(); }
  std::int64_t token_elements() const { return routing().tokens() * columns(); }
  std::int64_t columns() const { return setup_.request.shape.k; }
  ElementType type() const { return setup_.request.recipe.high_precision; }
  void read(const TensorSource& source, Buffer<std::uint16_t>& to) const;
  kernels::PermutedRows rows() const;
  HostSpan span(Stage stage, StepTensor writes, int linear_layer);
  void sum(int linear_layer, StepTensor writes, const std::uint16_t* from,
           const float* probabilities, std::uint16_t* to);
  kernels::UnpermuteGradientArgs gradient_args() const;

  Setup setup_;
  OperationNames names_{StepKind::ExpertLayer};
  std::vector<std::int32_t> experts_;      // [tokens, top_k]
  std::vector<std::int32_t> copy_rows_;    // [tokens, top_k]
  std::vector<std::int64_t> row_offsets_;  // [num_experts + 1]
};

}  // namespace engine
