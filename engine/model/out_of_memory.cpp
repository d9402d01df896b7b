#include "engine/model/out_of_memory.h"

#include <fmt/format.h>

namespace engine {

Error out_of_memory(std::string_view subject, std::int64_t needed, std::int64_t available,
                    std::string_view remedy, std::string_view memory) {
  const auto gib = [](std::int64_t bytes) { return static_cast<double>(bytes) / 0x1p30; };
  return {ErrorCode::OutOfMemory,
          fmt::format("{} {:.1f} GiB, but only {:.1f} GiB of {} are available; {}", subject,
                      gib(needed), gib(available), memory, remedy)};
}

}  // namespace engine
