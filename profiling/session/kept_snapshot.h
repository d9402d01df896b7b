// A captured graph as it is recorded: by itself, whoever it belongs to.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/model/fields.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

struct KeptSnapshot {
  enum class Owner : std::uint8_t { Run, Visit };
  friend constexpr auto enum_names(Owner) {
    return std::to_array<std::string_view>({"run", "visit"});
  }
  Owner owner = Owner::Run;
  std::int64_t owner_id = 0;  // the number of its run or visit, from 1
  Snapshot snapshot = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&KeptSnapshot::owner>("owner"),
        engine::field<&KeptSnapshot::owner_id>("owner_id", {.low = 1, .high = engine::kMaxCount}),
        engine::field<&KeptSnapshot::snapshot>("snapshot")};
  }
};

}  // namespace profiling
