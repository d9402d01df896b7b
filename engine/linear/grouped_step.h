// The step: offsets -> quantize X -> quantize every W -> one grouped product a layer. launch() only
// enqueues: no allocation, no host synchronisation, no split read back. Splits live on the device;
// a captured launch follows what they hold at replay time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/gemm/grouped_matmul.h"
#include "engine/linear/step_arrays.h"
#include "kernels/common/types.h"
#include "kernels/offsets/splits_to_offsets.h"

namespace engine {

/// BF16 operands on the device; they must outlive the step.
struct StepOperands {
  const void* activations = nullptr;      // [capacity_rows, k]
  std::vector<const void*> weights = {};  // a layer: [num_groups * n, k]
};

class GroupedStep {
 public:
  /// Allocates everything and asks cuBLASLt for its algorithm. Synchronises the stream.
  static Result<GroupedStep> create(std::shared_ptr<const CublasLt> library,
                                    const StepConfig& config, StepOperands operands,
                                    cudaStream_t stream);

  /// For set-up and tests; a step in flight may be reading them.
  Status write_splits(std::span<const std::int64_t> splits, cudaStream_t stream);

  Status launch(cudaStream_t stream, StepObserver& observer) const;

  /// Quantizes X and the first W once more, this time keeping every block's amax. Block scaling
  /// only; the codes come out the same.
  Status quantize_with_amax(float* activation_amax, float* weight_amax, cudaStream_t stream) const;

  /// Synchronises. An error if any launch since creation met splits that were negative or exceeded
  /// the capacity.
  Status check_splits(cudaStream_t stream) const;

  const StepConfig& config() const { return config_; }
  const StepArrays& buffers() const { return buffers_; }
  const std::shared_ptr<const CublasLt>& library() const { return library_; }
  /// The operands as the kernels see them, with device pointers.
  kernels::GroupedInput activations() const;
  kernels::GroupedInput weights(int layer) const;
  /// A configuration of this step's product with the arrays that depend on neither recipe nor
  /// layer; the caller adds operand arrays.
  GroupedMatmulConfig matmul_base() const;

 private:
  GroupedStep() = default;
  Status upload_constants(cudaStream_t stream);
  void plan_offsets();
  Status make_products();
  Status quantize_activations(cudaStream_t stream, StepObserver& observer) const;
  Status quantize_weights(int layer, cudaStream_t stream, StepObserver& observer) const;

  std::shared_ptr<const CublasLt> library_;
  StepConfig config_;
  StepOperands operands_;
  StepArrays buffers_;
  std::vector<kernels::SplitsToOffsetsArgs> offset_launches_;
  std::vector<GroupedMatmul> products_;  // one a layer
};

}  // namespace engine
