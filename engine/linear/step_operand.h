// One operand of the step (X, dY or the W of a layer), quantized as the recipe defines, and what
// the products read of it.
#pragma once

#include <memory>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/gemm/grouped_product.h"
#include "engine/linear/step_arrays.h"
#include "engine/linear/step_config.h"
#include "engine/program/projection_program.h"
#include "engine/quantize/quantize_cuda.h"
#include "kernels/amax/nvfp4_alpha.h"

namespace engine {

/// What a product reads of an operand.
struct OperandSource {
  cudaDataType_t type = CUDA_R_16BF;
  MatrixScaling scaling = MatrixScaling::None;
  bool transposed = false;  // lines are columns of the operand, padded to row_unit() elements
  GroupAddresses values = {};
  GroupAddresses scales = {};
  kernels::GroupScalars amax = {};  // NVFP4: what the global scales come from
};

/// A product that reads high precision itself; `listed` not empty: weights of [n, k] each, in place
/// of input.input.
OperandSource high_precision_source(const StepConfig& config, OperandRole role,
                                    const kernels::GroupedInput& input,
                                    const std::vector<const void*>& listed = {});

/// Operand of a step whose recipe quantizes.
class StepOperand {
 public:
  struct Setup {
    OperandCopies copies = {};
    kernels::GroupedInput input = {};              // high precision, device pointers
    const std::int64_t* padded_offsets = nullptr;  // device; of the columnwise copy
    const float* noop = nullptr;
    float* bias_partials = nullptr;  // only where the quantize kernels sum dY
    /// Not empty: a list of weights, [n, k] each, in place of input.input.
    std::vector<const void*> listed = {};
  };
  static Result<StepOperand> create(const StepConfig& config, const Setup& setup,
                                    cudaStream_t stream);

  /// What the launches that write codes are recorded as.
  WorkTag tag() const;
  /// Enqueues the pass. Stamps come from the launch that writes codes, not from an amax pass before
  /// it.
  Status quantize(kernels::LaunchStream stream, StepObserver& observer,
                  kernels::StampBuffer stamps = {}) const;

  const OperandCopies& copies() const { return setup_.copies; }
  OperandSource source(kernels::Direction direction) const;

 private:
  StepOperand() = default;
  bool weights() const { return setup_.copies.role == OperandRole::Weights; }
  Status make_quantizers(cudaStream_t stream);
  Status make_decoded();
  Status make_amax_pointers(cudaStream_t stream);
  kernels::GroupScalars amax_source(kernels::Direction direction) const;
  bool listed() const { return !setup_.listed.empty(); }
  kernels::GroupedInput part(std::size_t index) const;
  GroupAddresses code_addresses(kernels::Direction direction) const;
  GroupAddresses scale_addresses(kernels::Direction direction) const;

  StepConfig config_;
  Setup setup_;
  std::vector<CudaQuantizer> quantizers_;  // one, or one per group for a list of weights
  DeviceBuffer part_offsets_;              // int64 {0, n}: the rows of one weight of a list
  DeviceBuffer amax_pointers_[2];          // NVFP4, of a list: a direction's amax of each weight
  DeviceBuffer decoded_[2];                // emulation: rowwise and columnwise copy, decoded
};

/// Device bytes that create() will allocate.
std::int64_t operand_bytes(const StepConfig& config, const StepOperand::Setup& setup);

// The alphas of one native NVFP4 product: an array of one value per group that a launch fills from
// what the quantization of the step has left, and the pointers through which cuBLASLt reads it.

class ProductAlphas {
 public:
  /// Creates the alphas of the product that reads these two operands. Synchronises; addresses never
  /// change.
  static Result<ProductAlphas> create(const StepConfig& config, const OperandSource& a,
                                      const OperandSource& b, cudaStream_t stream);

  /// Called before the product, after the quantization of its operands.
  Status launch(kernels::LaunchStream stream) const;
  /// Device array [num_groups] of device pointers.
  void* const* pointers() const { return pointers_.as<void*>(); }

 private:
  DeviceBuffer alphas_;    // float [num_groups]
  DeviceBuffer pointers_;  // [num_groups]
  kernels::Nvfp4AlphaArgs args_;
};

}  // namespace engine
