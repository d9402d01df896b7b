// Tables of comparisons and sweeps, and the document of a comparison.
#pragma once

#include <span>
#include <vector>

#include "profiling/compare/run_comparison.h"
#include "profiling/compare/sweep_points.h"
#include "profiling/document/document.h"
#include "profiling/document/table.h"

namespace profiling {

/// The step, its stages and its kernels, in this order. Times in ns, `ratio` is B / A. The
/// comparison must outlive the table.
Table time_differences_table(const RunComparison& comparison);

/// One row per expert: its time in A and in B, its tokens, and the SNR of its product. The
/// rows must outlive the table.
Table expert_differences_table(std::span<const ExpertRow> experts);

/// The settings that differ.
Table settings_table(const SettingsDifference& settings);

/// All of a comparison in one table for files: its times, one row per expert, and one per setting
/// that differs, with its values in `setting_a` and `setting_b`.
Table comparison_table(const RunComparison& comparison, const SettingsDifference& settings);

/// What differs between two runs, and whether one of them is faster. Both must outlive the
/// document.
Document difference_document(const RunComparison& comparison, const SettingsDifference& settings);

/// One row per point, by their labels. Files also have a column for every field of the requests
/// that differs between points, by its path.
Table sweep_table(const std::vector<SweepPoint>& points);

}  // namespace profiling
