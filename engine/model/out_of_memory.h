// Refusals for want of memory, in one wording.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/model/error.h"

namespace engine {

/// "<subject> 3.1 GiB, but only 2.0 GiB of <memory> are available; <remedy>"; the subject ends with
/// its verb: "this run needs".
Error out_of_memory(std::string_view subject, std::int64_t needed, std::int64_t available,
                    std::string_view remedy, std::string_view memory = "memory");

}  // namespace engine
