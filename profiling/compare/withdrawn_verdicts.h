// What a significant difference between two runs does not say: verdicts are taken back where the
// runs did different work, had the same settings, ran the same step although other settings were
// requested, or launched a kernel for other rows.
#pragma once

#include "profiling/compare/run_comparison.h"

namespace profiling {

/// A single block of an interleaved measurement is no run of its own: it decides nothing.
bool in_blocks(const RunSide& side);

/// Of every row of the comparison of these sides. A step that was not interleaved gets a caution.
void withdraw_verdicts(const RunSide& a, const RunSide& b, RunComparison& comparison);

}  // namespace profiling
