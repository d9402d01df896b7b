// The place on the host from which a record was launched, as far as the run recorded it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profiling/trace/activity.h"

namespace profiling {

struct HostLaunch {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::string name;  // of the API call, or of the host's range around it
  bool call = true;  // false = only the range is known: the launch lies somewhere in it
};

/// The call that launched the record. Without recorded calls the host's range of the record's
/// stage, layer and iteration, or else of its iteration. Empty if the run has neither, and for host
/// spans, which nothing launched. Visits all host events.
std::optional<HostLaunch> host_launch(const Activity& activity, const ActivityRecord& record);

}  // namespace profiling
