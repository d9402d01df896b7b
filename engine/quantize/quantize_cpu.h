// One operand through the CPU twin of any recipe, in one direction: what a step, a comparison and a
// dump quantize with. Holds what delayed scaling carries from one step to the next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/quantize/operand_layout.h"

namespace engine {

/// Why this recipe has nothing to quantize; empty if it has.
std::string cpu_refusal(const Recipe& recipe);

/// One step of delayed scaling on an operand: scales from the amax that earlier steps have left,
/// then the cast, which leaves this step's amax for the next.
struct DelayedCast {
  kernels::GroupedInput input = {};
  DelayedScaling delayed = {};
  kernels::Fp8Format format = kernels::Fp8Format::E4m3;
  bool pow2 = false;
  float* history = nullptr;    // [history_length, num_groups], zeroed before the first step
  float* scale = nullptr;      // [num_groups], 1 before the first step
  float* scale_inv = nullptr;  // [num_groups]
  std::uint8_t* codes = nullptr;
  kernels::Direction direction = kernels::Direction::Rowwise;
};
void cast_delayed(const DelayedCast& cast);

class CpuQuantizer {
 public:
  struct Setup {
    Recipe recipe;
    OperandRole role = OperandRole::Activations;
    kernels::Direction direction = kernels::Direction::Rowwise;
    kernels::GroupedInput input = {};  // must outlive the quantizer, as all it points at
    std::uint64_t seed = 1;            // of stochastic rounding
    int layer = 0;                     // with `role` and `part` the tensor that draws
    int part = 0;
  };
  /// Allocates; the recipe must not be refused.
  explicit CpuQuantizer(const Setup& setup);

  /// One step: amax and scales as the recipe has them, then codes. Stochastic rounding draws other
  /// numbers in every step.
  void quantize();

  const OperandLayout& layout() const { return layout_; }
  kernels::QuantizedView view() const;
  const std::vector<std::uint8_t>& codes() const { return codes_; }
  const float* fp32_scales() const { return reinterpret_cast<const float*>(scales_.data()); }
  const std::vector<std::uint8_t>& byte_scales() const { return scales_; }
  /// Per tensor and NVFP4: one a group. Block scaling: laid out as the scales. MXFP8: empty.
  const std::vector<float>& amax() const { return amax_; }
  /// Compulsory bytes of one quantize(): input read once a pass, codes and scales written.
  std::int64_t moved_bytes() const;
  std::int64_t written_code_bytes() const;
  std::int64_t written_scale_bytes() const;

 private:
  float* scales() { return reinterpret_cast<float*>(scales_.data()); }
  bool rowwise() const { return setup_.direction == kernels::Direction::Rowwise; }
  void quantize_current();
  void quantize_delayed();
  void quantize_blocks();
  void quantize_mxfp8();
  void quantize_nvfp4();
  kernels::ScaleOptions options() const {
    return {.pow2 = setup_.recipe.pow2_scales, .amax_epsilon = setup_.recipe.amax_epsilon};
  }

  Setup setup_;
  OperandLayout layout_;
  std::vector<std::int64_t> splits_;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint8_t> scales_;  // new[] aligns bytes for float too
  std::vector<float> amax_;
  std::vector<float> scale_;    // per tensor: [groups]
  std::vector<float> history_;  // delayed: [length, groups]
  std::uint64_t steps_ = 0;
};

}  // namespace engine
