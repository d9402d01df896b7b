#include "profiling/hazards/snapshot/foreign_memory.h"

#include <fmt/format.h>
#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "profiling/hazards/snapshot/accesses.h"
#include "profiling/hazards/snapshot/segments.h"

namespace profiling {

namespace {

using engine::Allocation;
using engine::AllocationRole;

// Counts and strides are smaller, doubles and packed pairs larger than the addresses a device maps.
constexpr std::uint64_t kLowestAddress = std::uint64_t{1} << 24;
constexpr std::uint64_t kHighestAddress = std::uint64_t{1} << 57;

class UnknownAddresses {
 public:
  UnknownAddresses(const Snapshot& snapshot, const GraphSnapshot& graph,
                   std::set<std::uint64_t>& words)
      : index_(snapshot, graph), words_(words) {}

  void add(std::uint64_t word) {
    if (word < kLowestAddress || word >= kHighestAddress || index_.find(word) >= 0) return;
    if (words_.size() < kMaxUnlistedWords) words_.insert(word);
  }

  void add(const KernelNode& kernel) {
    any_argument_word(kernel, [this](const ParameterSlot&, std::uint64_t, std::uint64_t word) {
      add(word);
      return false;
    });
  }

 private:
  AllocationIndex index_;
  std::set<std::uint64_t>& words_;
};

bool overlap(const Allocation& allocation, const ForeignRange& range) {
  return allocation.live() && allocation.address < range.address + range.bytes &&
         range.address < allocation.address + allocation.bytes;
}

}  // namespace

std::vector<std::uint64_t> unlisted_words(const Snapshot& snapshot) {
  std::set<std::uint64_t> words;
  for (const GraphSnapshot& graph : snapshot.graphs) {
    UnknownAddresses search(snapshot, graph, words);
    for (const SnapshotNode& node : graph.nodes) {
      if (const auto* kernel = std::get_if<KernelNode>(&node.parameters)) {
        search.add(*kernel);
      } else if (const auto* memset = std::get_if<MemsetNode>(&node.parameters)) {
        search.add(memset->address);
      } else if (const auto* copy = std::get_if<MemcpyNode>(&node.parameters)) {
        search.add(copy->source);
        search.add(copy->target);
      }
    }
  }
  return {words.begin(), words.end()};
}

void add_foreign_memory(Snapshot& snapshot, std::span<const ForeignRange> ranges,
                        AllocationRole role) {
  std::uint64_t id = snapshot.ledger.empty() ? 0 : snapshot.ledger.back().id;
  std::int64_t number = std::ranges::count_if(
      snapshot.ledger, [](const Allocation& entry) { return engine::foreign(entry.role); });
  for (const ForeignRange& range : ranges) {
    if (range.bytes == 0 || range.address + range.bytes < range.address) continue;
    const bool listed = std::ranges::any_of(
        snapshot.ledger, [&](const Allocation& entry) { return overlap(entry, range); });
    if (listed) continue;
    snapshot.ledger.push_back({.id = ++id,
                               .address = range.address,
                               .bytes = range.bytes,
                               .space = range.space,
                               .role = role,
                               .owner = fmt::format("foreign memory #{}", ++number)});
  }
}

std::vector<ForeignRange> graph_allocations(const Snapshot& snapshot) {
  std::vector<ForeignRange> ranges;
  for (const GraphSnapshot& graph : snapshot.graphs) {
    for (const SnapshotNode& node : graph.nodes) {
      const auto* made = std::get_if<MemAllocNode>(&node.parameters);
      if (made != nullptr) ranges.push_back({.address = made->address, .bytes = made->bytes});
    }
  }
  return ranges;
}

void leave_out_earlier_allocations(Snapshot& snapshot, std::uint64_t since) {
  std::vector<bool> touched(snapshot.ledger.size());
  std::vector<bool> next_owner(snapshot.ledger.size());
  const Segments segments(snapshot.ledger);
  for (const GraphSnapshot& graph : snapshot.graphs) {
    for (const Touch& touch : find_touches(snapshot, graph)) {
      if (touch.allocation < 0) continue;
      touched[static_cast<std::size_t>(touch.allocation)] = true;
      touched[static_cast<std::size_t>(segments.behind(touch.allocation))] = true;
    }
  }
  std::unordered_map<std::uint64_t, std::size_t> later;  // by address
  for (std::size_t i = snapshot.ledger.size(); i-- > 0;) {
    const auto [next, last] = later.try_emplace(snapshot.ledger[i].address, i);
    if (!last && touched[i] && !snapshot.ledger[i].live()) next_owner[next->second] = true;
    next->second = i;
  }
  std::vector<engine::Allocation> kept;
  for (std::size_t i = 0; i < snapshot.ledger.size(); ++i) {
    const engine::Allocation& allocation = snapshot.ledger[i];
    if (touched[i] || next_owner[i] || allocation.live() || allocation.freed_at > since)
      kept.push_back(allocation);
  }
  snapshot.ledger = std::move(kept);
}

}  // namespace profiling
