#include "profiling/hazards/snapshot/accesses.h"

#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

namespace profiling {

namespace {

/// Lower is better: this project's own, alive during the capture, small, alive at its end, recent.
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

namespace {

class Scan {
 public:
  Scan(const Snapshot& snapshot, const GraphSnapshot& graph) : index_(snapshot, graph) {}

  void node(int node, const NodeParameters& parameters) {
    node_ = node;
    if (const auto* kernel = std::get_if<KernelNode>(&parameters)) {
      arguments(*kernel);
    } else if (const auto* memset = std::get_if<MemsetNode>(&parameters)) {
      range(Touch::Place::MemsetTarget, memset->address, memset->bytes());
    } else if (const auto* copy = std::get_if<MemcpyNode>(&parameters)) {
      range(Touch::Place::CopySource, copy->source, copy->bytes);
      range(Touch::Place::CopyTarget, copy->target, copy->bytes);
    } else if (const auto* allocates = std::get_if<MemAllocNode>(&parameters)) {
      range(Touch::Place::Allocates, allocates->address, allocates->bytes);
    } else if (const auto* frees = std::get_if<MemFreeNode>(&parameters)) {
      range(Touch::Place::Frees, frees->address, 0);
    }
  }

  std::vector<Touch> touches;

 private:
  void range(Touch::Place place, std::uint64_t address, std::uint64_t bytes) {
    if (address == 0) return;
    touches.push_back({.node = node_,
                       .place = place,
                       .word = address,
                       .bytes = bytes,
                       .allocation = index_.find(address)});
  }

  void arguments(const KernelNode& kernel) {
    any_argument_word(kernel, [&](const ParameterSlot& slot, std::uint64_t at, std::uint64_t word) {
      const int allocation = index_.find(word);
      if (allocation < 0) return false;
      const bool laid_out = !kernel.slots.empty();
      const TensorMap* map = tensor_map_at(kernel, at);
      const bool may_be_map =
          laid_out && slot.bytes == kTensorMapBytes && slot.offset % kTensorMapAlign == 0;
      touches.push_back({.node = node_,
                         .place = map != nullptr ? Touch::Place::TensorMap
                                  : may_be_map   ? Touch::Place::Descriptor
                                                 : Touch::Place::Parameter,
                         .whole_slot = map != nullptr || (laid_out && slot.bytes == kAddressBytes),
                         .byte = static_cast<std::uint32_t>(at),
                         .word = word,
                         .bytes = map == nullptr ? 0 : map->bytes,
                         .allocation = allocation});
      return false;
    });
  }

  AllocationIndex index_;
  int node_ = 0;
};

}  // namespace

std::vector<Touch> find_touches(const Snapshot& snapshot, const GraphSnapshot& graph) {
  Scan scan(snapshot, graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    scan.node(static_cast<int>(n), graph.nodes[n].parameters);
  }
  return std::move(scan.touches);
}

std::string place_text(const Touch& touch) {
  switch (touch.place) {
    case Touch::Place::Parameter:
      return fmt::format("parameter byte {}", touch.byte);
    case Touch::Place::Descriptor:
      return fmt::format("parameter byte {}, in a tensor map", touch.byte);
    case Touch::Place::TensorMap:
      return fmt::format("tensor map at parameter byte {}", touch.byte);
    case Touch::Place::MemsetTarget:
      return "memset target";
    case Touch::Place::CopySource:
      return "copy source";
    case Touch::Place::CopyTarget:
      return "copy target";
    case Touch::Place::Allocates:
      return "allocated here";
    case Touch::Place::Frees:
      return "freed here";
  }
  return "unknown";
}

Access to_access(const Snapshot& snapshot, int graph, const Touch& touch) {
  Access access{
      .node = {.graph = graph, .node = touch.node}, .place = place_text(touch), .word = touch.word};
  if (touch.allocation >= 0) {
    const engine::Allocation& owner = snapshot.ledger[static_cast<std::size_t>(touch.allocation)];
    access.owner = owner.owner;
    access.offset = touch.word - owner.address;
  }
  return access;
}

}  // namespace profiling
