// The alphas of one native NVFP4 product: an array of one value a group that a launch fills from
// what the quantization of the step has left, and the pointers through which cuBLASLt reads it.
#pragma once

#include "engine/device/buffer.h"
#include "engine/linear/step_operand.h"
#include "kernels/amax/nvfp4_alpha.h"

namespace engine {

class ProductAlphas {
 public:
  /// Of the product that reads these two operands. Synchronises; addresses never change.
  static Result<ProductAlphas> create(const StepConfig& config, const OperandSource& a,
                                      const OperandSource& b, cudaStream_t stream);

  /// Before the product, behind the quantization of its operands.
  Status launch(kernels::LaunchStream stream) const;
  /// Device array [num_groups] of device pointers.
  void* const* pointers() const { return pointers_.as<void*>(); }

 private:
  DeviceBuffer alphas_;    // float [num_groups]
  DeviceBuffer pointers_;  // [num_groups]
  kernels::Nvfp4AlphaArgs args_;
};

}  // namespace engine
