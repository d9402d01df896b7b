#include "profiling/hazards/model/core_place.h"

#include <fmt/format.h>

namespace profiling {
namespace {

struct Wait {
  std::string_view begins;  // of the instruction, in the assembly of Hopper and before
  std::string_view words;
};
constexpr std::array kWaits = {
    Wait{"BAR.SYNC", "a barrier of its thread block"},
    Wait{"BAR.RED", "a barrier of its thread block"},
    Wait{"UCGABAR_WAIT", "a barrier of its cluster"},
    Wait{"WARPSYNC", "other threads of its warp"},
    Wait{"SYNCS.PHASECHK", "an mbarrier in shared memory"},
    Wait{"ACQBULK", "the kernel before it (programmatic dependency)"},
    Wait{"NANOSLEEP", "its next poll"},
};

}  // namespace

std::string_view wait_words(std::string_view instruction) {
  // "@!P0 BAR.SYNC 0x0": the guard does not matter here.
  if (instruction.starts_with('@')) {
    const std::size_t space = instruction.find(' ');
    if (space == std::string_view::npos) return "";
    instruction.remove_prefix(space + 1);
  }
  for (const Wait& wait : kWaits) {
    if (instruction.starts_with(wait.begins)) return wait.words;
  }
  return "";
}

std::string core_place_text(const CorePlace& place) {
  if (place.kernel.empty()) return place.missing;
  std::string text = place.kernel + place.launch;
  if (!place.block.empty()) text += ", block " + place.block;
  if (place.warp >= 0) text += fmt::format(", warp {}", place.warp);
  if (place.sm >= 0) text += fmt::format(" on SM {}", place.sm);
  if (!place.instruction.empty()) text += ", at " + place.instruction;
  if (const std::string_view wait = wait_words(place.instruction); !wait.empty()) {
    text += fmt::format(" (waits for {})", wait);
  }
  if (!place.source.empty()) text += ", " + place.source;
  return text;
}

}  // namespace profiling
