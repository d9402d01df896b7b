#include "profiling/hazards/snapshot/compared_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/model/counted.h"
#include "profiling/hazards/model/names.h"

namespace profiling {
namespace {

using engine::Allocation;

/// Ranges that may overlap each other, for looking up many pieces of memory.
class RangeSet {
 public:
  RangeSet(std::vector<ChangedMemory> changed, bool ChangedMemory::* by) {
    std::ranges::sort(changed, {}, &ChangedMemory::address);
    std::uint64_t end = 0;
    for (const ChangedMemory& one : changed) {
      if (!(one.*by)) continue;
      begins_.push_back(one.address);
      ends_.push_back(end = std::max(end, one.address + one.bytes));
    }
  }
  bool overlaps(const Allocation& memory) const {
    const auto after = std::ranges::lower_bound(begins_, memory.address + memory.bytes);
    const auto before = static_cast<std::size_t>(after - begins_.begin());
    return before > 0 && ends_[before - 1] > memory.address;
  }

 private:
  std::vector<std::uint64_t> begins_;  // ascending
  std::vector<std::uint64_t> ends_;    // the last one so far
};

constexpr std::uint64_t kNever = ~std::uint64_t{0};

/// When each piece of memory that the graph reaches gets another owner, on the ledger's clock; of
/// the others, when it ends. A graph goes on with what was released after its capture, and a
/// framework's pool keeps it for the graph.
std::vector<std::uint64_t> ends_for_graph(const Snapshot& snapshot,
                                          const std::vector<int>& reached) {
  std::vector<std::uint64_t> ends;
  for (const Allocation& memory : snapshot.ledger)
    ends.push_back(memory.live() ? kNever : memory.freed_at);
  std::vector<std::size_t> released;
  for (const int index : reached) {
    const auto i = static_cast<std::size_t>(index);
    if (snapshot.ledger[i].live()) continue;
    released.push_back(i);
    ends[i] = kNever;
  }
  const auto address_of = [&](std::size_t i) { return snapshot.ledger[i].address; };
  std::ranges::sort(released, {}, address_of);
  std::vector<std::uint64_t> furthest;  // end of what begins up to here
  for (const std::size_t i : released) {
    const std::uint64_t end = address_of(i) + snapshot.ledger[i].bytes;
    furthest.push_back(furthest.empty() ? end : std::max(end, furthest.back()));
  }
  for (const Allocation& owner : snapshot.ledger) {
    const auto behind =
        std::ranges::lower_bound(released, owner.address + owner.bytes, {}, address_of);
    for (auto at = static_cast<std::size_t>(behind - released.begin());
         at-- > 0 && furthest[at] > owner.address;) {
      const Allocation& memory = snapshot.ledger[released[at]];
      if (memory.address + memory.bytes > owner.address && owner.allocated_at >= memory.freed_at)
        ends[released[at]] = std::min(ends[released[at]], owner.allocated_at);
    }
  }
  return ends;
}

std::string counted_text(std::size_t changed, std::size_t of) {
  return of == 0 ? std::string() : fmt::format("{} of {}", changed, of);
}

std::string sentence(std::string clause) {
  if (clause.empty()) return clause;
  if (clause.front() >= 'a' && clause.front() <= 'z')
    clause.front() = static_cast<char>(clause.front() - 'a' + 'A');
  return clause + ".";
}

}  // namespace

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

std::vector<const ComparedReplay*> successive(const GraphSnapshot& graph) {
  std::vector<const ComparedReplay*> found;
  const std::vector<ComparedReplay>& all = graph.compared;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i - 1].replay + 1 == all[i].replay && !all[i].partial) found.push_back(&all[i]);
  }
  return found;
}

std::vector<MemoryChanges> memory_changes(const Snapshot& snapshot, const GraphSnapshot& graph,
                                          const std::vector<int>& reached) {
  if (graph.compared.empty()) return {};
  std::vector<MemoryChanges> all(snapshot.ledger.size());
  const std::vector<std::uint64_t> ends = ends_for_graph(snapshot, reached);
  const std::vector<const ComparedReplay*> with_predecessor = successive(graph);
  for (const ComparedReplay& replay : graph.compared) {
    const RangeSet by_replay(replay.changed, &ChangedMemory::by_replay);
    const RangeSet by_program(replay.changed, &ChangedMemory::by_program);
    const bool preceded = std::ranges::count(with_predecessor, &replay) > 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Allocation& memory = snapshot.ledger[i];
      if (memory.space != engine::MemorySpace::Device) continue;
      if (replay.at != 0 && (replay.at < memory.allocated_at || replay.at >= ends[i])) continue;
      ++all[i].replays;
      all[i].by_replays += by_replay.overlaps(memory);
      all[i].preceded += preceded;
      all[i].by_program += preceded && by_program.overlaps(memory);
    }
  }
  return all;
}

std::string by_replays_text(const MemoryChanges& changes) {
  return counted_text(changes.by_replays, changes.replays);
}
std::string by_program_text(const MemoryChanges& changes) {
  return counted_text(changes.by_program, changes.preceded);
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
  const std::vector<int> reached = reached_memory(find_touches(snapshot, graph));
  const std::vector<MemoryChanges> changes = memory_changes(snapshot, graph, reached);
  std::vector<const Allocation*> inputs;
  for (const int index : reached) {
    const Allocation& memory = snapshot.ledger[static_cast<std::size_t>(index)];
    const MemoryChanges& found = changes[static_cast<std::size_t>(index)];
    if (found.replays == 0 || found.by_replays > 0) continue;
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

std::string replays_text(const std::vector<const ComparedReplay*>& replays) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < replays.size();) {
    std::size_t last = i;
    while (last + 1 < replays.size() && replays[last + 1]->replay == replays[last]->replay + 1)
      ++last;
    parts.push_back(last == i ? fmt::format("{}", replays[i]->replay)
                              : fmt::format("{} to {}", replays[i]->replay, replays[last]->replay));
    i = last + 1;
  }
  const bool one = replays.size() == 1;
  std::string text = (one ? "replay " : "replays ") + parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i)
    text += (i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

std::string not_compared_sentence(const Snapshot& snapshot) {
  return sentence(snapshot.not_compared);
}

std::string compared_sentences(const Snapshot& snapshot, const GraphSnapshot& graph) {
  std::string text;
  if (!graph.compared.empty()) {
    std::vector<const ComparedReplay*> all;
    for (const ComparedReplay& replay : graph.compared) all.push_back(&replay);
    const auto [least, most] =
        std::ranges::minmax_element(graph.compared, {}, &ComparedReplay::hashed_bytes);
    const std::string bytes = size_text(least->hashed_bytes);
    const bool same = least->hashed_bytes == most->hashed_bytes;
    text = sentence(
        fmt::format("memory compared before and after {}: {}", replays_text(all),
                    same ? bytes : fmt::format("{} to {}", bytes, size_text(most->hashed_bytes))));
    const auto partial = std::ranges::count_if(graph.compared, &ComparedReplay::partial);
    if (partial > 0) {
      text += fmt::format(" In {} of them not all memory or not all changes could be recorded.",
                          partial);
    }
  }
  const std::string limit = not_compared_sentence(snapshot);
  return text + (text.empty() || limit.empty() ? "" : " ") + limit;
}

}  // namespace profiling
