#include "profiling/hazards/snapshot/compared_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/model/counted.h"
#include "profiling/hazards/model/names.h"

namespace profiling {

bool overlaps(const ChangedMemory& changed, const engine::Allocation& memory) {
  return changed.address < memory.address + memory.bytes &&
         memory.address < changed.address + changed.bytes;
}

std::vector<int> reached_memory(const std::vector<Touch>& touches) {
  std::vector<int> reached;
  for (const Touch& touch : touches) {
    if (touch.allocation >= 0) reached.push_back(touch.allocation);
  }
  std::ranges::sort(reached);
  const auto repeated = std::ranges::unique(reached);
  reached.erase(repeated.begin(), repeated.end());
  return reached;
}

bool ever_written(const GraphSnapshot& graph, const engine::Allocation& memory) {
  return std::ranges::any_of(graph.compared, [&](const ComparedReplay& replay) {
    return std::ranges::any_of(replay.changed, [&](const ChangedMemory& changed) {
      return changed.by_replay && overlaps(changed, memory);
    });
  });
}

std::vector<const ComparedReplay*> successive(const GraphSnapshot& graph) {
  std::vector<const ComparedReplay*> found;
  const std::vector<ComparedReplay>& all = graph.compared;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i - 1].replay + 1 == all[i].replay && !all[i].partial) found.push_back(&all[i]);
  }
  return found;
}

MeasuredMemory measured_memory(const Snapshot& snapshot, const GraphSnapshot& graph) {
  MeasuredMemory measured{.replays = graph.compared.size()};
  if (graph.compared.empty()) return measured;
  const ComparedReplay& newest = graph.compared.back();
  measured.hashed_bytes = newest.hashed_bytes;
  measured.partial = newest.partial;
  for (const ChangedMemory& changed : newest.changed) {
    if (!changed.by_replay) continue;
    ++measured.written_places;
    measured.written_bytes += changed.bytes;
  }
  std::vector<const engine::Allocation*> inputs;
  for (const int index : reached_memory(find_touches(snapshot, graph))) {
    const engine::Allocation& memory = snapshot.ledger[static_cast<std::size_t>(index)];
    if (memory.space != engine::MemorySpace::Device || ever_written(graph, memory)) continue;
    inputs.push_back(&memory);
    measured.input_bytes += memory.bytes;
  }
  measured.inputs = inputs.size();
  for (const ComparedReplay* replay : successive(graph)) {
    measured.refreshed += std::ranges::any_of(replay->changed, [&](const ChangedMemory& changed) {
      return changed.by_program && std::ranges::any_of(inputs, [&](const auto* memory) {
               return overlaps(changed, *memory);
             });
    });
  }
  return measured;
}

std::string words_of(const MeasuredMemory& measured) {
  const std::string wrote =
      measured.written_places == 0
          ? "changed nothing"
          : fmt::format("changed {} ({})", engine::counted(measured.written_places, "place"),
                        size_text(measured.written_bytes));
  const std::string reads =
      measured.inputs == 0
          ? "reaches no other memory"
          : fmt::format("reaches {} ({}) that none changes, refreshed before {} of them",
                        engine::counted(measured.inputs, "input"), size_text(measured.input_bytes),
                        measured.refreshed);
  return fmt::format("{} compared in {}{}: the newest {} and {}",
                     engine::counted(measured.replays, "replay"), size_text(measured.hashed_bytes),
                     measured.partial ? " (not all memory or changes)" : "", wrote, reads);
}

}  // namespace profiling
