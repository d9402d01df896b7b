#include "profiling/hazards/snapshot/allocation_index.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

namespace profiling {
namespace {

/// Lower is better: ours, alive during the capture, small, live at its end, young.
using Rank = std::tuple<int, std::uint64_t, int, std::uint64_t, int>;

struct Boundary {
  std::uint64_t address = 0;
  bool begins = false;
  Rank rank;
};

}  // namespace

AllocationIndex::AllocationIndex(const Snapshot& snapshot, const GraphSnapshot& graph) {
  // Without a clock (a file without one) every allocation is a candidate.
  const bool timed = graph.capture_ended != 0;
  std::vector<Boundary> boundaries;
  boundaries.reserve(2 * snapshot.ledger.size());
  for (std::size_t i = 0; i < snapshot.ledger.size(); ++i) {
    const engine::Allocation& allocation = snapshot.ledger[i];
    if (allocation.bytes == 0 || allocation.address + allocation.bytes < allocation.address) {
      continue;
    }
    if (timed && allocation.allocated_at > graph.capture_ended) continue;
    const bool gone = timed && !allocation.live() && allocation.freed_at <= graph.capture_began;
    const bool live = allocation.live() || (timed && allocation.freed_at > graph.capture_ended);
    // The block's owner knows better than the source of the surrounding range.
    const Rank rank{engine::foreign(allocation.role) ? 2
                    : gone                           ? 1
                                                     : 0,
                    allocation.bytes, live ? 0 : 1,
                    std::numeric_limits<std::uint64_t>::max() - allocation.id, static_cast<int>(i)};
    boundaries.push_back({allocation.address, true, rank});
    boundaries.push_back({allocation.address + allocation.bytes, false, rank});
  }
  std::sort(boundaries.begin(), boundaries.end(),
            [](const Boundary& a, const Boundary& b) { return a.address < b.address; });
  std::set<Rank> open;
  for (std::size_t i = 0; i < boundaries.size();) {
    const std::uint64_t address = boundaries[i].address;
    for (; i < boundaries.size() && boundaries[i].address == address; ++i) {
      if (boundaries[i].begins) {
        open.insert(boundaries[i].rank);
      } else {
        open.erase(boundaries[i].rank);
      }
    }
    const int best = open.empty() ? -1 : std::get<4>(*open.begin());
    if (segments_.empty() || segments_.back().allocation != best) {
      segments_.push_back({.begin = address, .allocation = best});
    }
  }
}

int AllocationIndex::find(std::uint64_t word) const {
  if (segments_.empty() || word < segments_.front().begin || word >= segments_.back().begin) {
    return -1;
  }
  const auto after =
      std::upper_bound(segments_.begin(), segments_.end(), word,
                       [](std::uint64_t w, const Segment& segment) { return w < segment.begin; });
  return std::prev(after)->allocation;
}

}  // namespace profiling
