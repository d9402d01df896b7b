// Names of kernels for people.
#pragma once

#include <string>
#include <string_view>

namespace profiling {

/// The name of a kernel without return type, namespaces, parameters, "_kernel" and architecture. Of
/// the template arguments those that tell instances apart: "tile<BlockWorker, E4M3>".
std::string short_kernel_name(std::string_view name);
/// "fprop up", and "memset for fprop up": what a piece of work is called where there is room for
/// one name. The kernel's short name where the operation is not known.
std::string work_label(std::string_view operation, std::string_view kernel);
/// "fprop up  nvjet_qqtst": what the step does, then the kernel's short name. One alone where the
/// other is empty or says the same.
std::string work_name(std::string_view operation, std::string_view kernel);

}  // namespace profiling
