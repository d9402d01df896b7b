// Display names of the doctor's enumerations, shared by window, command line and reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/finding.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

using engine::name_of;  // for every enumeration with enum_names

/// Exact: "32 MiB", "4 KiB", "100 bytes".
std::string size_text(std::uint64_t bytes);

/// "deadline 0.5 s; 99 % of the previous replays took 12.3 us or less", without the second part if
/// the deadline is not derived from them.
std::string deadline_text(const Stall& stall);

// The human-readable name of a kernel.

/// Demangled, without return type, parameter list and anonymous namespaces. Null gives "unnamed
/// kernel"; unmangled names are returned unchanged.
std::string readable_kernel_name(const char* symbol);

}  // namespace profiling
