// One operand through the kernels of any recipe, in either direction or in both with one read. Owns
// the device arrays: their addresses never change, so that a captured launch can be replayed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/observe/step_observer.h"
#include "engine/quantize/operand_layout.h"
#include "engine/quantize/statistics_fold.h"

namespace engine {

/// Codes and scales of one direction, on the device.
struct QuantizedForm {
  OperandLayout layout;
  DeviceBuffer codes;
  DeviceBuffer scales;  // empty in the columnwise form of per-tensor scaling: see scales()
  DeviceBuffer amax;    // NVFP4: [num_groups]; block scaling: as the scales, if kept
};

class CudaQuantizer {
 public:
  struct Setup {
    Recipe recipe;
    OperandRole role = OperandRole::Activations;
    bool rowwise = true;  // at least one of the two
    bool columnwise = false;
    kernels::GroupedInput input = {};      // device pointers
    kernels::OutputRows output_rows = {};  // padding
    kernels::MicroScaleLayout micro_scales = kernels::MicroScaleLayout::Compact;
    std::uint64_t seed = 1;  // of stochastic rounding: every step draws the same
    int layer = 0;           // with `role` and `part` the tensor that draws: rounding_key.h
    int part = 0;
    const float* noop = nullptr;     // device scalar: 1 keeps what is there
    float* bias_partials = nullptr;  // device; only where RecipeTraits::sums_bias
    bool keep_block_amax = false;    // block scaling: also write every block's amax
    // How long the codes of each form, and what is as large, are needed.
    BufferLife rowwise_life = BufferLife::Step;
    BufferLife columnwise_life = BufferLife::Step;
  };
  /// Allocates; quantize_refusal() of the recipe must be empty. Codes of padding are 0 until they
  /// are written.
  static Result<CudaQuantizer> create(const Setup& setup, cudaStream_t stream);

  /// Launches one step, does not wait for it. Stages: amax, quantize; the rest of its tags is as
  /// in `work`.
  /// Stamps (null = none): of the tiles that write codes; Unsupported for inputs other than BF16.
  Status quantize(kernels::LaunchStream stream, StepObserver& observer, const WorkTag& work = {},
                  kernels::StampBuffer stamps = {}) const;

  const Setup& setup() const { return setup_; }
  /// Null if this direction was not requested.
  const QuantizedForm* form(kernels::Direction direction) const;
  /// Scales in a form that exists: FP32 or bytes, as the layout says.
  const DeviceBuffer& scales(kernels::Direction direction) const;
  const DeviceBuffer& amax(kernels::Direction direction) const;
  /// For dequantize: the arrays with their row offsets.
  kernels::QuantizedView view(kernels::Direction direction) const;

  /// What lies on the device now. Synchronises.
  struct HostArrays {
    std::vector<std::uint8_t> codes;
    std::vector<std::uint8_t> scales;
    std::vector<float> amax;  // as CpuQuantizer::amax()
  };
  Result<HostArrays> download(kernels::Direction direction, cudaStream_t stream) const;

  /// Device bytes that create() will allocate.
  static std::int64_t bytes(const Setup& setup);

 private:
  Status allocate(cudaStream_t stream);
  /// What launches the two passes of a kernel.
  struct Kernels {
    Status (CudaQuantizer::*amax)(kernels::LaunchStream stream) const;  // null: there is one pass
    Status (CudaQuantizer::*codes)(kernels::LaunchStream stream,
                                   const kernels::LaunchControls& launch) const;
  };
  static Kernels kernels_of(QuantizeKernel kernel);
  /// Computes the scale from the amax of this operand or, with delayed scaling, from the history.
  Status scale_per_tensor(kernels::LaunchStream stream) const;
  Status quantize_per_tensor(kernels::LaunchStream stream,
                             const kernels::LaunchControls& launch) const;
  Status quantize_blocks(kernels::LaunchStream stream, const kernels::LaunchControls& launch) const;
  Status quantize_mxfp8(kernels::LaunchStream stream, const kernels::LaunchControls& launch) const;
  Status nvfp4_amax(kernels::LaunchStream stream) const;
  Status quantize_nvfp4(kernels::LaunchStream stream, const kernels::LaunchControls& launch) const;
  bool per_tensor() const;
  bool hadamard() const;
  float* form_amax(int form) const;  // null without that form
  /// One amax and scale per group serve both directions.
  const QuantizedForm& first_form() const { return forms_[0] ? *forms_[0] : *forms_[1]; }
  std::uint8_t* codes(int direction) const;
  kernels::LaunchControls controls(kernels::StampBuffer stamps) const;

  Setup setup_;
  std::optional<QuantizedForm> forms_[2];  // rowwise, columnwise
  DeviceBuffer scale_;                     // per tensor: [num_groups]
  DeviceBuffer amax_;                      // per tensor: [num_groups]
  DeviceBuffer history_;                   // delayed scaling: [history_length, num_groups]
  DeviceBuffer tickets_;                   // see LaunchControls
  DeviceBuffer random_state_;              // of stochastic rounding: {key, offset}
};

// What quantizing did to one operand that lies on the device.

struct OperandNumbers {
  OperandStatistics statistics;
  std::vector<kernels::GroupQuantizationSums> sums;  // a group
};

/// Quantizes the operand once more, rowwise and with every amax kept (delayed scaling twice: its
/// history is one step over the same operand), and measures that. Scaling::None measures the
/// operand alone. `splits`: rows of every group. The operand and its codes stay on the device: what
/// comes to the host is counts, sums and scales with their losses. Synchronises.
Result<OperandNumbers> measure_on_device(const Recipe& recipe, OperandRole role,
                                         const kernels::GroupedInput& input,
                                         const std::vector<std::int64_t>& splits,
                                         cudaStream_t stream);

/// Device bytes that measure_on_device() allocates.
std::int64_t measure_bytes(const Recipe& recipe, OperandRole role,
                           const kernels::GroupedInput& input);

}  // namespace engine
