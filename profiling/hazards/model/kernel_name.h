// The name of a kernel as people read it.
#pragma once

#include <string>

namespace profiling {

/// Demangled, without return type, parameter list and anonymous namespaces. Null gives "unnamed
/// kernel"; what is not mangled stays as it is.
std::string readable_kernel_name(const char* symbol);

}  // namespace profiling
