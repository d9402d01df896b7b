// Runs that were measured together: the points of a sweep, the blocks of an interleaved A/B.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/model/fields.h"

namespace profiling {

enum class GroupKind : std::uint8_t { None, Sweep, Interleaved };
constexpr auto enum_names(GroupKind) {
  return std::to_array<std::string_view>({"none", "sweep", "interleaved"});
}

/// Tag of one run. Runs of one group have the same kind and id.
struct RunGroup {
  GroupKind kind = GroupKind::None;
  std::int64_t id = 0;  // Unix time in ms of the group's start; 0 = in no group
  int position = 0;     // in the order of measuring, from 0
  std::string label;    // sweep: the run's values on the axes; interleaved: "A" or "B"

  bool operator==(const RunGroup&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&RunGroup::kind>(),
                      engine::field<&RunGroup::id>(engine::kDuration_ns),
                      engine::field<&RunGroup::position>({.low = 0, .high = 9'999}),
                      engine::field<&RunGroup::label>()};
  }
};

}  // namespace profiling
