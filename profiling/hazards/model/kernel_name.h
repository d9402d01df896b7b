// The human-readable name of a kernel.
#pragma once

#include <string>

namespace profiling {

/// Demangled, without return type, parameter list and anonymous namespaces. Null gives "unnamed
/// kernel"; unmangled names are returned unchanged.
std::string readable_kernel_name(const char* symbol);

}  // namespace profiling
