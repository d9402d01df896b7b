#include "app/gui/graph/memory_map.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

#include "profiling/hazards/snapshot/reachability.h"

namespace app {
namespace {

using profiling::Touch;

/// Beyond this many touches only neighbours are compared.
constexpr std::size_t kAllPairs = 600;

bool clashes_as_a_whole(engine::AllocationRole role) {
  return role == engine::AllocationRole::Workspace || role == engine::AllocationRole::Counter;
}

bool overlap(const Touch& a, const Touch& b) {
  const std::uint64_t a_bytes = std::max<std::uint64_t>(a.bytes, 1);
  const std::uint64_t b_bytes = std::max<std::uint64_t>(b.bytes, 1);
  return a.word < b.word ? b.word - a.word < a_bytes : a.word - b.word < b_bytes;
}

bool may_clash(const Touch& a, const Touch& b, engine::AllocationRole role) {
  if (clashes_as_a_whole(role)) return true;
  return (a.writes() || b.writes()) && overlap(a, b);
}

MemoryRow row_of(int allocation, engine::AllocationRole role, const std::vector<Touch>& touches,
                 const profiling::Reachability& order) {
  MemoryRow row{.allocation = allocation, .cells = {}, .red = false};
  std::vector<std::size_t> cell_of;
  for (const Touch& touch : touches) {
    if (row.cells.empty() || row.cells.back().node != touch.node) {
      row.cells.push_back({.node = touch.node});
    }
    row.cells.back().writes = row.cells.back().writes || touch.writes();
    cell_of.push_back(row.cells.size() - 1);
  }
  for (std::size_t i = 0; i < touches.size(); ++i) {
    const std::size_t end =
        touches.size() <= kAllPairs ? touches.size() : std::min(touches.size(), i + 2);
    for (std::size_t k = i + 1; k < end; ++k) {
      if (cell_of[i] == cell_of[k] || !may_clash(touches[i], touches[k], role)) continue;
      if (order.ordered(touches[i].node, touches[k].node)) continue;
      row.cells[cell_of[i]].unordered_with = touches[k].node;
      row.cells[cell_of[k]].unordered_with = touches[i].node;
      row.red = true;
    }
  }
  return row;
}

}  // namespace

MemoryMap map_memory(const profiling::Snapshot& snapshot, const profiling::GraphSnapshot& graph) {
  MemoryMap map;
  map.touches = profiling::find_touches(snapshot, graph);
  std::map<int, std::vector<Touch>> by_allocation;
  for (const Touch& touch : map.touches) {
    if (touch.allocation >= 0) by_allocation[touch.allocation].push_back(touch);
  }
  const profiling::Reachability order(graph);
  for (std::size_t i = 0; i < snapshot.ledger.size(); ++i) {
    const auto touched = by_allocation.find(static_cast<int>(i));
    map.rows.push_back(
        row_of(static_cast<int>(i), snapshot.ledger[i].role,
               touched == by_allocation.end() ? std::vector<Touch>() : touched->second, order));
    if (map.rows.back().red) ++map.clashes;
  }
  const auto rank = [&snapshot](const MemoryRow& row) {
    const engine::Allocation& allocation =
        snapshot.ledger[static_cast<std::size_t>(row.allocation)];
    return std::tuple(row.cells.empty(), static_cast<int>(allocation.role),
                      row.cells.empty() ? 0 : row.cells.front().node);
  };
  std::stable_sort(map.rows.begin(), map.rows.end(),
                   [&](const MemoryRow& a, const MemoryRow& b) { return rank(a) < rank(b); });
  return map;
}

}  // namespace app
