// Comparisons and sweeps as comma-separated text for other programs; numbers in full precision,
// empty where a value does not exist.
#pragma once

#include <span>
#include <string>

#include "profiling/compare/run_comparison.h"
#include "profiling/compare/sweep_points.h"

namespace profiling {

/// One row per step, stage, kernel and expert, then one per setting that differs (its values in
/// `setting_a` and `setting_b`). Times in ns, `ratio` is B / A.
std::string comparison_csv(const RunComparison& comparison, const SettingsDifference& settings);
/// One row per point.
std::string sweep_csv(std::span<const SweepPoint> points);

}  // namespace profiling
