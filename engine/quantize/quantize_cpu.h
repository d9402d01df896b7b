// One operand through the CPU twin of any recipe, in one direction: used by steps, comparisons and
// dumps; below it one dispatch to the twins. Holds the state of delayed scaling between steps.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/quantize/operand_layout.h"

namespace engine {

// The CPU twins of every recipe behind two calls. They serve a grouped operand and a single expert
// alike, since an expert's codes and scales do not depend on others.

/// One operand in one direction. Arrays that the recipe does not use may be null.
struct CpuCast {
  const Recipe& recipe;
  OperandLayout layout = {};
  kernels::GroupedInput input = {};
  std::uint8_t* codes = nullptr;
  void* scales = nullptr;    // FP32 or bytes, as the layout says
  float* amax = nullptr;     // amax_count() of them; block scaling: may be null
  float* scale = nullptr;    // [num_groups] per tensor; 1 before the first step of a history
  float* history = nullptr;  // [history_length, num_groups], zeroed before the first step
  std::array<std::uint64_t, 2> random_state = {};  // of stochastic rounding: key, offset
};

/// The pass before the first code; only where RecipeTraits::measures_amax().
void measure_amax_cpu(const CpuCast& cast);

/// Codes and scales: from what measure_amax_cpu() has left, from the blocks themselves, or from the
/// history, to which this step's amax is added.
void quantize_cpu(const CpuCast& cast);

class CpuQuantizer {
 public:
  struct Setup {
    Recipe recipe;
    OperandRole role = OperandRole::Activations;
    kernels::Direction direction = kernels::Direction::Rowwise;
    kernels::GroupedInput input = {};  // must outlive the quantizer, as must its arrays
    std::uint64_t seed = 1;            // of stochastic rounding
    int layer = 0;                     // with `role` and `part` the tensor that draws
    int part = 0;
  };
  /// Allocates; quantize_refusal() of the recipe must be empty.
  explicit CpuQuantizer(const Setup& setup);

  /// Another operand with as many groups, which quantize() takes from now on; what delayed scaling
  /// remembers stays. Codes and scales are those of no operand until then.
  void set_input(const kernels::GroupedInput& input);

  /// One step: amax and scales as the recipe defines, then codes. Stochastic rounding draws new
  /// numbers in every step.
  void quantize();

  const OperandLayout& layout() const { return layout_; }
  kernels::QuantizedView view() const;
  const std::vector<std::uint8_t>& codes() const { return codes_; }
  const float* fp32_scales() const { return reinterpret_cast<const float*>(scales_.data()); }
  const std::vector<std::uint8_t>& byte_scales() const { return scales_; }
  /// Per tensor and NVFP4: one per group. Block scaling: laid out as the scales. MXFP8: empty.
  const std::vector<float>& amax() const { return amax_; }
  /// Delayed scaling: [history_length, num_groups], row 0 the newest; else empty.
  std::span<const float> history() const { return history_; }
  /// Scales per tensor: the factor of each group, 1 before the first step of a history.
  std::span<const float> group_scales() const { return scale_; }
  /// Compulsory bytes of one quantize(): input read once per pass, codes and scales written.
  std::int64_t moved_bytes() const;
  std::int64_t written_code_bytes() const;
  std::int64_t written_scale_bytes() const;

 private:
  Setup setup_;
  OperandLayout layout_;
  std::vector<std::int64_t> splits_;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint8_t> scales_;  // new[] aligns bytes for float too
  std::vector<float> amax_;
  std::vector<float> scale_;    // [groups], used per tensor
  std::vector<float> history_;  // delayed: [length, groups]
  std::uint64_t steps_ = 0;
};

}  // namespace engine
