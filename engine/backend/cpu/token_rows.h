// Tokens of an expert layer and their copies in the order of the experts, as the CPU permutes them:
// all experts at once, by the kernels' twins.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/backend/cpu/layer_tensors.h"
#include "engine/backend/cpu/loaded_operands.h"
#include "engine/backend/cpu/machine.h"
#include "engine/input/token_routing.h"
#include "engine/model/run_request.h"
#include "engine/observe/step_observer.h"
#include "engine/program/operation_words.h"
#include "kernels/permute/permute.h"

namespace engine {

/// What is loaded, in high precision; kept between runs.
struct TokenBuffers {
  Buffer<std::uint16_t> x_tokens;   // [tokens, k]
  Buffer<std::uint16_t> dy_tokens;  // [tokens, k]
};

class TokenRows {
 public:
  struct Setup {
    const RunRequest& request;  // of the layer
    std::shared_ptr<const TokenRouting> routing;
    const TensorSource& x;         // [tokens, k]
    const TensorSource* gradient;  // dYt [tokens, k], for a backward pass
    TokenBuffers& buffers;
    const LayerTensors& tensors;  // that operations on tokens write, and read rows of
    RunContext context;
  };
  explicit TokenRows(const Setup& setup);

  /// The experts that tokens choose from now on.
  void set_splits(const std::vector<std::int64_t>& splits, std::size_t step);
  const TokenRouting& routing() const { return *setup_.routing; }
  std::span<const std::int32_t> copy_rows() const {
    return {setup_.tensors.as<std::int32_t>(StepTensor::TokenMap),
            static_cast<std::size_t>(copies())};
  }

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

 private:
  std::int64_t copies() const { return routing().tokens() * routing().top_k(); }
  std::int64_t token_elements() const { return routing().tokens() * columns(); }
  std::int64_t columns() const { return setup_.request.shape.k; }
  ElementType type() const { return setup_.request.recipe.high_precision; }
  void read(const TensorSource& source, Buffer<std::uint16_t>& to) const;
  kernels::PermutedRows rows() const;
  HostSpan span(Stage stage, StepTensor writes, int linear_layer);
  /// Of a layer: `writes` from the rows of `reads`.
  void sum(Projection projection, int layer, StepTensor reads, StepTensor writes,
           const float* probabilities);
  kernels::UnpermuteGradientArgs gradient_args() const;

  Setup setup_;
  OperationNames names_{StepKind::ExpertLayer};
  std::vector<std::int32_t> experts_;      // [tokens, top_k]
  std::vector<std::int64_t> row_offsets_;  // [num_experts + 1]
};

}  // namespace engine
