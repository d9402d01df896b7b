#include "profiling/hazards/model/names.h"

#include <fmt/format.h>

namespace profiling {

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  constexpr std::uint64_t kKiB = std::uint64_t{1} << 10;
  if (bytes != 0 && bytes % kMiB == 0) return fmt::format("{} MiB", bytes / kMiB);
  if (bytes != 0 && bytes % kKiB == 0) return fmt::format("{} KiB", bytes / kKiB);
  return fmt::format("{} bytes", bytes);
}

std::string deadline_text(const Stall& stall) {
  std::string text = fmt::format("deadline {:.3g} s", stall.deadline_seconds);
  if (stall.p99_seconds > 0.0) {
    text += fmt::format("; 99 % of the previous replays took {:.4g} us or less",
                        1e6 * stall.p99_seconds);
  }
  return text;
}

}  // namespace profiling
