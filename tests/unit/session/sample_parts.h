// What sample runs and sample comparisons are made of, and as text.
#pragma once

#include <limits>
#include <string>

#include "engine/model/recipe_comparison.h"
#include "engine/model/run_result.h"

namespace profiling {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

engine::OperandStatistics sample_operand(int salt);
std::string describe(const engine::RangeWaste& waste);
std::string describe(const engine::OperandStatistics& operand);

}  // namespace profiling
