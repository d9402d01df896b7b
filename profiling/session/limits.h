// Checks of results that let the window index into them without further checks: the range of every
// member, as its descriptor says, and relations between members. The same checks are applied to
// what a worker answers (app/protocol/worker_frames), by the writer and by the reader of a
// recording, so that no recording becomes unreadable. Errors name the member, the value and the
// limit.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "profiling/session/session_file.h"

namespace profiling {

engine::Status check(const RecordedRun& run);
engine::Status check(const RecordedComparison& recorded);
engine::Status check(const RecordedVisit& visit);

// The parts of these that a worker answers.
engine::Status check(const engine::RunResult& result, const Activity& activity,
                     const Snapshot& snapshot, const PowerTrace& power);
engine::Status check(const engine::RecipeComparison& comparison);
/// Checks an experiment against the graphs of the snapshot that it names.
engine::Status check(const Outcome& outcome, const Snapshot& snapshot);

/// Checks notes alone, which may change after their run was written.
engine::Status check(const std::vector<TimeNote>& notes);
engine::Status check_run_name(const std::string& name);

/// For limits computed from untrusted values: checks after a failed one do nothing, but their
/// limits are still computed.
constexpr std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

}  // namespace profiling
