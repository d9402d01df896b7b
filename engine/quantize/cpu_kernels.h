// The CPU twins of every recipe behind two calls. A grouped operand and a single expert of one go
// through the same: an expert's codes and scales do not depend on its neighbours.
#pragma once

#include <array>
#include <cstdint>

#include "engine/quantize/operand_layout.h"

namespace engine {

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

}  // namespace engine
