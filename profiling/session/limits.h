// What must be true of a recorded value for the window to index into it blindly: the range of every
// member, as its descriptor says, and what must hold between members. Both directions keep to it:
// the writer refuses what the reader would refuse, so no recording is lost unnoticed. Errors name
// the member, the value and the limit.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "profiling/session/session_file.h"

namespace profiling {

engine::Status check(const RecordedRun& run);
engine::Status check(const RecordedComparison& recorded);
engine::Status check(const RecordedHistory& recorded);
engine::Status check(const RecordedVisit& visit);

/// Of notes alone, which may change after their run was written.
engine::Status check(const std::vector<TimeNote>& notes);

/// A limit made from another value, which may itself be hostile: checks behind one that failed do
/// nothing, but their limits are still computed.
constexpr std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

}  // namespace profiling
