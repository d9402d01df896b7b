// Hazards 3 and 4: memory that a captured graph holds and that its owner freed. If another graph
// got it meanwhile, the two corrupt each other's contents.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

using engine::Allocation;

/// One graph's accesses to one freed allocation.
struct Held {
  int graph = 0;
  int allocation = 0;
  std::vector<const Touch*> touches;
};

enum class Gone { No, BeforeCapture, DuringCapture, AfterCapture };

Gone when_gone(const GraphSnapshot& graph, const Allocation& allocation) {
  if (allocation.live()) return Gone::No;
  if (allocation.freed_at <= graph.capture_began) return Gone::BeforeCapture;
  return allocation.freed_at <= graph.capture_ended ? Gone::DuringCapture : Gone::AfterCapture;
}

/// An argument structure may hold leftovers of an earlier call in its padding: for memory freed
/// before the capture only separate parameters, memsets and copies count.
bool believable(const Touch& touch, Gone gone) {
  return gone != Gone::BeforeCapture || touch.certain() || touch.whole_slot;
}

/// A pool's block that was released is still the graphs' own, unless the graph that it was made for
/// has ended, and this one has no memory of the same pool.
bool kept_by_pool(const RuleContext& context, const Held& held) {
  const Allocation& block = *context.allocation(held.allocation);
  if (!context.in_graph_pool(block)) return false;
  if (!is_pool_block(block) || block.made_for == context.graph(held.graph).name ||
      ended_owner(context, held.allocation, held.graph) == nullptr)
    return true;
  const Allocation* segment = context.allocation(context.segments().around(block));
  if (segment == nullptr) return false;
  return std::ranges::any_of(context.snapshot.ledger, [&](const Allocation& other) {
    return is_pool_block(other) && other.made_for == context.graph(held.graph).name &&
           segment->holds(other.address);
  });
}

std::vector<Held> held_by(const RuleContext& context, int graph) {
  std::map<int, Held> held;
  for (const Touch& touch : context.touches(graph)) {
    const int behind = context.segments().behind(touch.allocation);
    const Allocation* allocation = context.allocation(behind);
    if (allocation == nullptr || !is_subjects_device_memory(*allocation)) continue;
    const Gone gone = when_gone(context.graph(graph), *allocation);
    if (gone == Gone::No || !believable(touch, gone)) continue;
    if (context.graph(graph).unused_since(allocation->freed_at)) continue;
    Held& of_allocation = held[behind];
    of_allocation.graph = graph;
    of_allocation.allocation = behind;
    of_allocation.touches.push_back(&touch);
  }
  std::vector<Held> all;
  for (auto& [allocation, of_allocation] : held) {
    if (!kept_by_pool(context, of_allocation)) all.push_back(std::move(of_allocation));
  }
  return all;
}

/// The allocation of another graph that got the memory later, with that graph.
std::vector<std::pair<int, int>> successors_of(const RuleContext& context, const Held& held,
                                               const Holders& holders) {
  const Allocation& gone = *context.allocation(held.allocation);
  std::vector<std::pair<int, int>> successors;
  for (const auto& [other, graphs] : holders) {
    const Allocation& allocation = *context.allocation(other);
    if (allocation.allocated_at < gone.freed_at || !share_bytes(gone, allocation)) continue;
    for (const int graph : graphs) {
      if (graph != held.graph) successors.emplace_back(other, graph);
    }
  }
  return successors;
}

/// Memory that a cache keeps stays mapped and as it is until somebody else gets it.
bool is_still_in_cache(const RuleContext& context, const Allocation& gone, std::uint64_t by) {
  if (gone.role != engine::AllocationRole::Cached) return false;
  bool mapped = false;
  for (const Allocation& other : context.snapshot.ledger) {
    if (other.id == gone.id || !share_bytes(gone, other)) continue;
    const bool cached = other.role == gone.role;
    if (cached && other.allocated_at >= gone.freed_at && other.allocated_at <= by) return false;
    mapped = mapped || (!cached && other.live());
  }
  return mapped;
}

std::string freed_title(const RuleContext& context, const std::vector<NodeRef>& holders,
                        const Allocation& gone, Gone when, const GraphSnapshot* owner) {
  const std::string nodes = context.text(holders);
  const char* hold = holders.size() == 1 ? "holds" : "hold";
  if (owner != nullptr) {
    const bool made_for_it = gone.made_for == owner->name;
    return fmt::format("{}, {} \"{}\", went {} it at {}, but {} {} its address", text(gone),
                       made_for_it ? "made in the capture of" : "first used by", owner->name,
                       made_for_it ? "with" : "after", owner->destroyed_at, nodes, hold);
  }
  if (when == Gone::DuringCapture && gone.role != engine::AllocationRole::Cached) {
    return fmt::format("{} was regrown during capture; {} {} the old address", text(gone), nodes,
                       hold);
  }
  return fmt::format("{} is freed, but {} {} its address", text(gone), nodes, hold);
}

Finding freed_finding(const RuleContext& context, const Held& held) {
  const Allocation& gone = *context.allocation(held.allocation);
  const GraphSnapshot& graph = context.graph(held.graph);
  const Gone when = when_gone(graph, gone);
  const bool cached = gone.role == engine::AllocationRole::Cached;
  const bool harmless = is_still_in_cache(context, gone, graph.last_launch);
  Finding finding{.rule = "freed-memory", .hazard = 3, .confidence = Confidence::Possible};
  for (const Touch* touch : held.touches) {
    add_node(finding.nodes, {held.graph, touch->node});
    add_access(finding.accesses, context.access(held.graph, *touch));
    const bool sure = touch->place != Touch::Place::Descriptor &&
                      (when != Gone::BeforeCapture || touch->certain());
    if (sure && !harmless) finding.confidence = Confidence::Likely;
  }
  const GraphSnapshot* owner = ended_owner(context, held.allocation, held.graph);
  finding.title = freed_title(context, finding.nodes, gone, when, owner);
  finding.explanation = fmt::format(
      "The graph keeps the address {:#x} of a block that was freed {}. Every replay still reads or "
      "writes there: the memory's new owner is overwritten, or the replay faults because nothing "
      "is mapped there.",
      gone.address,
      when == Gone::DuringCapture  ? (cached ? "while the graph was captured"
                                             : "while the graph was captured, or replaced "
                                               "by a larger one (regrown during capture)")
      : when == Gone::AfterCapture ? "after the capture"
                                   : "before the capture began");
  if (cached) {
    finding.explanation +=
        " The memory belongs to a framework's cache, which gives it to the next tensor of about "
        "this size.";
  }
  finding.evidence.push_back(
      fmt::format("Ledger: allocated at {}, freed at {}; the capture went from {} to {}.",
                  gone.allocated_at, gone.freed_at, graph.capture_began, graph.capture_ended));
  const auto mapped = std::ranges::find(held.touches, Touch::Place::TensorMap, &Touch::place);
  if (mapped != held.touches.end()) {
    finding.evidence.push_back(fmt::format("The address was encoded in the {} of {}.",
                                           place_text(**mapped),
                                           context.text(NodeRef{held.graph, (*mapped)->node})));
  }
  if (owner != nullptr) finding.evidence.push_back(ownership(gone, *owner));
  if (!gone.freed_where.empty()) finding.evidence.push_back("Freed by " + gone.freed_where + ".");
  if (graph.launches > 0) {
    finding.evidence.push_back(fmt::format(
        "The graph was launched {} in all, last at {}: after the memory was freed.",
        graph.launches == 1 ? "once" : fmt::format("{} times", graph.launches), graph.last_launch));
  }
  for (const Allocation& later : context.snapshot.ledger) {
    if (later.allocated_at < gone.freed_at || !share_bytes(gone, later)) continue;
    finding.evidence.push_back(later.live()
                                   ? "Ledger: the memory belongs to " + text(later) + " now."
                                   : "Ledger: the memory went to " + text(later) + " next.");
    break;
  }
  finding.fix = fix_of(finding.rule);
  if (owner != nullptr) {
    finding.fix.words =
        "Give every graph a workspace of its own, or keep what a graph's pool holds until the last "
        "graph that uses it is destroyed. " +
        finding.fix.words;
  }
  finding.proof.words =
      "Plain replays are compared with eager launches, including the new owner's contents; then "
      "the nodes get their own buffer in place of the freed one.";
  if (gone.owner.empty()) return finding;
  for (const NodeRef& node : finding.nodes) {
    finding.proof.cures.moved.push_back({.node = node, .owner = gone.owner});
  }
  return finding;
}

Finding alias_finding(const RuleContext& context, const Held& held, int successor, int graph) {
  const Allocation& first = *context.allocation(held.allocation);
  const Allocation& second = *context.allocation(successor);
  Finding finding{.rule = "pool-alias", .hazard = 4, .confidence = Confidence::Likely};
  std::vector<NodeRef> earlier;
  std::vector<NodeRef> later;
  for (const Touch* touch : held.touches) {
    add_node(earlier, {held.graph, touch->node});
    add_access(finding.accesses, context.access(held.graph, *touch));
  }
  for (const Touch& touch : context.touches(graph)) {
    if (touch.allocation != successor || touch.place == Touch::Place::Descriptor) continue;
    add_node(later, {graph, touch.node});
    add_access(finding.accesses, context.access(graph, touch));
  }
  for (const auto& nodes : {earlier, later}) {
    for (const NodeRef node : nodes) add_node(finding.nodes, node);
  }
  finding.title =
      fmt::format("{} of graph \"{}\" and {} of graph \"{}\" are the same memory", text(first),
                  context.graph(held.graph).name, text(second), context.graph(graph).name);
  finding.explanation = fmt::format(
      "The block at {:#x} was freed after the first graph had been captured, and the pool gave it "
      "to the second. Both graphs keep the address: {} overwrites what {} relies on, or the other "
      "way around, depending on the order of replays.",
      std::max(first.address, second.address), context.text(later), context.text(earlier));
  finding.evidence.push_back(
      fmt::format("Ledger: the first was freed at {}, the second allocated at {}.", first.freed_at,
                  second.allocated_at));
  if (const GraphSnapshot* owner = ended_owner(context, held.allocation, held.graph))
    finding.evidence.push_back(ownership(first, *owner));
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "Plain replays of both graphs are compared with eager launches; then the later graph's nodes "
      "get their own buffer.";
  if (second.owner.empty()) return finding;
  for (const NodeRef& node : later) {
    finding.proof.cures.moved.push_back({.node = node, .owner = second.owner});
  }
  return finding;
}

}  // namespace

void find_freed_memory(RuleContext& context, std::vector<Finding>& findings) {
  const Holders holders = holders_of(context);
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g)) continue;
    for (const Held& held : held_by(context, g)) {
      // The other rules report more.
      if (!successors_of(context, held, holders).empty()) continue;
      const auto graphs = holders.find(held.allocation);
      if (graphs != holders.end() &&
          freed_between(context, *context.allocation(held.allocation), graphs->second)) {
        continue;
      }
      findings.push_back(freed_finding(context, held));
    }
  }
}

void find_pool_aliases(RuleContext& context, std::vector<Finding>& findings) {
  const Holders holders = holders_of(context);
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g)) continue;
    for (const Held& held : held_by(context, g)) {
      for (const auto& [successor, graph] : successors_of(context, held, holders)) {
        findings.push_back(alias_finding(context, held, successor, graph));
      }
    }
  }
}

}  // namespace profiling
