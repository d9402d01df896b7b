// What cuda-gdb reads from a core dump of the device: where the kernel was.
#pragma once

#include <string>

namespace app {

/// The innermost frame, "#0 spin<<<(1,1,1),(32,1,1)>>> () at spin.cu:12", or a sentence saying why
/// there is none: no cuda-gdb on PATH, or no answer within half a minute.
std::string core_dump_place(const std::string& path);

}  // namespace app
