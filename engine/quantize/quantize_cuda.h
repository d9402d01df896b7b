// One operand through the kernels of any recipe, in one direction. Owns the device arrays.
#pragma once

#include <string>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/quantize/operand_layout.h"

namespace engine {

/// Why this recipe cannot be quantized on the device; empty if it can.
std::string cuda_refusal(const Recipe& recipe);

class CudaQuantizer {
 public:
  struct Setup {
    Recipe recipe;
    OperandRole role = OperandRole::Activations;
    kernels::Direction direction = kernels::Direction::Rowwise;
    kernels::GroupedInput input = {};  // device pointers
    std::uint64_t seed = 1;            // of stochastic rounding: every step draws the same numbers
  };
  /// Allocates; the recipe must not be refused.
  static Result<CudaQuantizer> create(const Setup& setup, cudaStream_t stream);

  /// Launches one step, does not wait for it.
  Status quantize(cudaStream_t stream) const;

  const OperandLayout& layout() const { return layout_; }
  /// What lies on the device now. Synchronises.
  struct HostArrays {
    std::vector<std::uint8_t> codes;
    std::vector<std::uint8_t> scales;
    std::vector<float> amax;  // as CpuQuantizer::amax()
  };
  Result<HostArrays> download(cudaStream_t stream) const;

 private:
  Status quantize_per_tensor(cudaStream_t stream) const;
  Status quantize_delayed(cudaStream_t stream) const;
  Status quantize_blocks(cudaStream_t stream) const;
  Status quantize_mxfp8(cudaStream_t stream) const;
  Status quantize_nvfp4(cudaStream_t stream) const;
  kernels::LaunchControls controls() const { return {.tickets = tickets_.as<std::uint32_t>()}; }
  kernels::ScaleOptions options() const {
    return {.pow2 = setup_.recipe.pow2_scales, .amax_epsilon = setup_.recipe.amax_epsilon};
  }

  Setup setup_;
  OperandLayout layout_;
  DeviceBuffer codes_;
  DeviceBuffer scales_;
  DeviceBuffer scale_;  // per tensor
  DeviceBuffer amax_;
  DeviceBuffer history_;       // delayed scaling: [history_length, num_groups]
  DeviceBuffer tickets_;       // see LaunchControls
  DeviceBuffer random_state_;  // {seed, offset}
  std::int64_t amax_count_ = 0;
};

}  // namespace engine
