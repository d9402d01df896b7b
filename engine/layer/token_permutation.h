// The head and the tail of an expert layer that begins and ends at tokens, on the device: which
// experts they choose, the map to rows, and the kernels that permute. Everything that follows from
// the choices is made by launches, so a replay follows new ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/device/buffer.h"
#include "engine/input/token_routing.h"
#include "engine/linear/step_config.h"
#include "engine/model/error.h"
#include "engine/observe/step_observer.h"
#include "engine/program/step_program.h"
#include "kernels/permute/permute.h"

namespace engine {

class TokenPermutation {
 public:
  /// `up`: of the layer's up projection, with its rows and its tags; `program`: of the layer.
  /// Synchronises.
  static Result<TokenPermutation> create(const StepConfig& up, const StepProgram& program,
                                         std::shared_ptr<const TokenRouting> routing,
                                         cudaStream_t stream);
  /// Device bytes that create() allocates.
  static std::int64_t bytes(const StepConfig& up, const StepProgram& program);

  // As in DeviceStep, for the choices that belong to these splits.
  Status write_splits(std::span<const std::int64_t> splits, std::size_t step, cudaStream_t stream);
  Status enqueue(const void* experts, cudaStream_t stream);

  /// The map, then X from `tokens` [tokens, k].
  Status permute(const void* tokens, cudaStream_t stream, StepObserver& observer) const;
  /// Yt of a layer from `rows` of Y.
  Status unpermute(int layer, const void* rows, cudaStream_t stream, StepObserver& observer) const;
  /// dY from `gradient` of Yt, and dp of a layer with its `rows` of Y.
  Status permute_gradient(int layer, const void* gradient, const void* rows, cudaStream_t stream,
                          StepObserver& observer) const;
  /// dXt of a layer from `rows` of dX.
  Status unpermute_gradient(int layer, const void* rows, cudaStream_t stream,
                            StepObserver& observer) const;

  const TokenRouting& routing() const { return *routing_; }
  const void* x() const { return x_.data(); }
  const void* dy() const { return dy_.data(); }
  // Outputs of a layer: [tokens, k] in the type of Y, and [tokens, top_k] in FP32.
  const void* y_tokens(int layer) const;
  const void* dx_tokens(int layer) const;
  const float* probability_gradients(int layer) const;
  /// {0, tokens}, on the device: the tokens as one group.
  const std::int64_t* token_offsets() const { return token_offsets_.as<std::int64_t>(); }

 private:
  TokenPermutation() = default;
  kernels::PermutedRows rows() const;
  kernels::LaunchStream ours(cudaStream_t stream) const {
    return {stream, up_.programmatic_launch};
  }
  std::int64_t copies() const { return routing_->tokens() * routing_->top_k(); }
  std::int64_t token_bytes() const { return routing_->tokens() * up_.k() * up_.output_bytes(); }

  StepConfig up_;
  std::shared_ptr<const TokenRouting> routing_;
  DeviceBuffer experts_;                // int32 [tokens, top_k]
  DeviceBuffer probabilities_;          // float [tokens, top_k]
  DeviceBuffer row_offsets_;            // int64 [num_groups + 1]
  DeviceBuffer copy_rows_;              // int32 [tokens, top_k]
  DeviceBuffer counts_;                 // of the map
  DeviceBuffer token_offsets_;          // int64 [2]
  DeviceBuffer x_, dy_;                 // [capacity_rows, k]
  DeviceBuffer y_tokens_, dx_tokens_;   // [layers, tokens, k]
  DeviceBuffer probability_gradients_;  // float [layers, tokens, top_k]
};

}  // namespace engine
