// Parts that sample runs and sample comparisons share.
#pragma once

#include <limits>

#include "engine/model/recipe_comparison.h"
#include "engine/model/run_result.h"

namespace profiling {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

engine::OperandStatistics sample_operand(int salt);
/// Of a tensor with at least eight rows and columns.
engine::ChannelStatistics sample_channels(int salt, const engine::TensorResult& tensor);
/// The tensor's row, with the extents that it has in the result's step.
engine::TensorResult& sample_tensor(engine::RunResult& result, engine::StepTensor tensor);

}  // namespace profiling
