// The words for the doctor's enumerations, one place for window, command line and reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiling/graph/experiment.h"
#include "profiling/graph/finding.h"
#include "profiling/graph/snapshot.h"

namespace profiling {

std::string_view name_of(NodeType type);          // "kernel", "memset", ...
std::string_view name_of(EdgeKind kind);          // "full", "programmatic", "launch order"
std::string_view name_of(Confidence confidence);  // "possible", ...
std::string_view name_of(Verdict verdict);        // "right", "wrong", "hung", ...
std::string_view name_of(NodeState state);        // "not reached", "running", "done", "unmarked"
std::string_view name_of(StallKind kind);
std::string_view name_of(CaptureEvent::Kind kind);
std::string_view name_of(engine::AllocationRole role);  // "workspace", "pointer array", ...
std::string_view name_of(engine::MemorySpace space);

/// Exact: "32 MiB", "4 KiB", "100 bytes".
std::string size_text(std::uint64_t bytes);

/// "deadline 0.5 s; 99 % of the replays before took 12.3 us or less", without the second part where
/// the deadline does not follow them.
std::string deadline_text(const Stall& stall);

}  // namespace profiling
