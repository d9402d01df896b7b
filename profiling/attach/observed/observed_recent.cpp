// The newest allocations, releases and updates, those of one graph before all others.
#include <algorithm>
#include <functional>
#include <utility>

#include "engine/model/text.h"
#include "profiling/attach/observed/observed_process.h"
#include "profiling/hazards/snapshot/accesses.h"

namespace profiling {
namespace {

struct HeldAddress {
  std::uint64_t word = 0;
  int node = 0;
};

/// Ascending by address.
std::vector<HeldAddress> held_addresses(const std::vector<engine::Allocation>& ledger,
                                        const GraphSnapshot& graph) {
  Snapshot alone;
  alone.ledger = ledger;
  alone.graphs.push_back(graph);
  // A kernel may have got an address since, so memory that was made after the capture counts.
  alone.graphs.front().capture_began = alone.graphs.front().capture_ended = 0;
  std::vector<HeldAddress> held;
  for (const Touch& touch : find_touches(alone, alone.graphs.front()))
    held.push_back({touch.word, touch.node});
  std::ranges::sort(held, {}, [](const HeldAddress& one) { return std::pair(one.word, one.node); });
  return held;
}

/// The memory may have gone to another owner: what counts is that it has such an address.
int holder_of(const engine::Allocation& memory, const std::vector<HeldAddress>& held) {
  const auto first = std::ranges::lower_bound(held, memory.address, {}, &HeldAddress::word);
  return first != held.end() && memory.holds(first->word) ? first->node : -1;
}

/// The newest of many, without a copy of any: places in some list.
class Newest {
 public:
  struct One {
    std::size_t place = 0;
    int node = -1;
    std::uint64_t time = 0;
  };

  bool takes(const One& one) const {
    if (one.time == 0) return false;  // not known
    const std::vector<One>& list = lists_[one.node >= 0];
    return list.size() < kMostRecent || one.time > list.back().time;
  }
  void add(const One& one) {
    std::vector<One>& list = lists_[one.node >= 0];
    const auto place = std::ranges::upper_bound(list, one.time, std::greater<>(), &One::time);
    list.insert(place, one);
    if (list.size() > kMostRecent) list.pop_back();
  }
  /// Those with a node, if there are any.
  std::vector<RecentMemory> of(const std::vector<engine::Allocation>& ledger) const {
    std::vector<RecentMemory> made;
    for (const One& one : lists_[1].empty() ? lists_[0] : lists_[1])
      made.push_back({.memory = ledger[one.place], .node = one.node, .time = one.time});
    return made;
  }

 private:
  std::vector<One> lists_[2];  // without a node, with one
};

}  // namespace

void ObservedProcess::note_update(ObservedGraph& graph, const SpoolFrame& frame,
                                  std::string_view call, std::uint64_t node) {
  constexpr std::size_t kMostCall = 100;  // bytes of a name from the file
  graph.updates.push_back(
      {.call = engine::shown_text(call, kMostCall), .node = node, .time = frame.time});
  if (graph.updates.size() > kMostRecent) graph.updates.erase(graph.updates.begin());
}

void ObservedProcess::take_node_call(const SpoolFrame& frame) {
  spool::NodeCall called{};
  if (!frame.read(called)) return;
  const auto number = of_exec_.find(called.exec);
  ObservedGraph* graph = number == of_exec_.end() ? nullptr : find(number->second);
  if (graph != nullptr)
    note_update(*graph, frame, frame.text_after(sizeof called, 0, called.call_bytes), called.node);
}

std::vector<RecentUpdate> ObservedProcess::recent_updates(std::uint64_t number) const {
  std::vector<RecentUpdate> made;
  const auto add_those_of = [&](const ObservedGraph& graph) {
    for (const ObservedUpdate& update : graph.updates) {
      const auto handle = std::ranges::find(graph.handles, update.node);
      const bool known = update.node != 0 && graph.complete && handle != graph.handles.end();
      made.push_back({.graph = graph.number,
                      .call = update.call,
                      .node = known ? static_cast<int>(handle - graph.handles.begin()) : -1,
                      .time = update.time});
    }
  };
  if (const ObservedGraph* graph = find(number)) add_those_of(*graph);
  if (made.empty()) {
    for (const auto& [other, graph] : graphs_) add_those_of(graph);
  }
  std::ranges::stable_sort(made, std::greater<>(), &RecentUpdate::time);
  if (made.size() > kMostRecent) made.resize(kMostRecent);
  return made;
}

RecentEvents ObservedProcess::recent_events(std::uint64_t number) const {
  const ObservedGraph* graph = find(number);
  const bool known = graph != nullptr && graph->complete;
  const std::vector<HeldAddress> held =
      known ? held_addresses(ledger_, graph->graph) : std::vector<HeldAddress>();
  Newest released;
  Newest allocated;
  for (std::size_t place = 0; place < ledger_.size(); ++place) {
    const int node = holder_of(ledger_[place], held);
    const Newest::One made{.place = place, .node = node, .time = ledger_times_[place].allocated};
    if (allocated.takes(made)) allocated.add(made);
    if (ledger_[place].live()) continue;
    const Newest::One gone{.place = place, .node = node, .time = ledger_times_[place].released};
    if (released.takes(gone) && !kept_by_pool(ledger_[place])) released.add(gone);
  }
  return {.released = released.of(ledger_),
          .allocated = allocated.of(ledger_),
          .updates = recent_updates(number),
          .memory_known = known,
          .updates_known = graph != nullptr};
}

}  // namespace profiling
