// The numerics of layer 0, measured once per run outside the timed iterations: the effect of
// quantization on each operand, and each expert's product against that of unquantized operands.
#pragma once

#include "engine/backend/cpu/cpu_step.h"
#include "engine/model/run_result.h"

namespace engine {

/// Fills result.activations, .weights and .experts. Counts kStatisticsUnits of progress per expert.
Status measure_statistics(CpuStep& step, RunResult& result);

inline constexpr double kStatisticsUnits = 3.0;  // an expert's statistics in units of its step

}  // namespace engine
