// Display names of the doctor's enumerations, shared by window, command line and reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/model/run_request.h"
#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/finding.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

using engine::name_of;  // for every enumeration with enum_names

/// "32 MiB", "4 KiB", "100 bytes"; "12.3 KiB" where it is neither whole nor short.
std::string size_text(std::uint64_t bytes);

/// Its owner; "allocation 12" if it has none.
std::string allocation_name(const engine::Allocation& memory);

/// The subject of a visit to a step: "grouped linear step, 8 experts, 1 024 rows, n 512, k 512, 1
/// layer".
std::string step_title(const engine::RunRequest& request);

/// "deadline 0.5 s; 99 % of the previous replays took 12.3 us or less", without the second part if
/// the deadline is not derived from them.
std::string deadline_text(const Stall& stall);

// The human-readable name of a kernel.

/// Demangled, without return type, parameter list and anonymous namespaces. Null gives "unnamed
/// kernel"; unmangled names are returned unchanged.
std::string readable_kernel_name(const char* symbol);

}  // namespace profiling
