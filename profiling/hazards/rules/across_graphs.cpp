// Hazards 4, 11 and 18: memory that is right within each graph, and wrong because of when another
// graph of the step uses it.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "profiling/hazards/rules/rules.h"
#include "profiling/hazards/snapshot/launch_order.h"

namespace profiling {
namespace {

using engine::Allocation;
using engine::AllocationRole;

constexpr std::uint8_t kPoison = 0xFF;
constexpr int kMaxReported = 256;           // pairs of blocks: the rest repeats them
constexpr std::size_t kMaxNamedGraphs = 8;  // graphs in a sentence

/// The nodes of these graphs that hold an address in the allocation, with their accesses.
void add_holders(const RuleContext& context, int allocation, const std::vector<int>& graphs,
                 Finding& finding) {
  for (const int graph : graphs) {
    for (const Touch& touch : context.touches(graph)) {
      if (touch.allocation != allocation || touch.place == Touch::Place::Descriptor) continue;
      add_node(finding.nodes, {graph, touch.node});
      add_access(finding.accesses, context.access(graph, touch));
    }
  }
}

std::string names(const RuleContext& context, const std::vector<int>& graphs) {
  std::string words;
  const std::size_t named = std::min(graphs.size(), kMaxNamedGraphs);
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) words += i + 1 == graphs.size() ? " and " : ", ";
    words += fmt::format("\"{}\"", context.graph(graphs[i]).name);
  }
  if (graphs.size() > named) words += fmt::format(" and {} more", graphs.size() - named);
  return words;
}

void freshen(const Allocation& allocation, const std::vector<int>& graphs, Experiment& cures) {
  if (allocation.owner.empty()) return;
  for (const int graph : graphs) {
    cures.fresh.push_back({.owner = allocation.owner, .graph = graph});
  }
}

// ---- Released between two captures --------------------------------------------------------------

Finding freed_between_finding(const RuleContext& context, int index,
                              const std::vector<int>& graphs) {
  const Allocation& freed = *context.allocation(index);
  Finding finding{.rule = "freed-between-graphs", .hazard = 18, .confidence = Confidence::Likely};
  std::vector<int> before;
  std::vector<int> after;
  for (const int graph : graphs) {
    const bool later = freed.freed_at <= context.graph(graph).capture_began;
    (later ? after : before).push_back(graph);
  }
  add_holders(context, index, graphs, finding);
  finding.title =
      fmt::format("{} is freed once graph {} is captured, and graph {} holds its address too",
                  text(freed), names(context, before), names(context, after));
  finding.explanation = fmt::format(
      "The graphs pass values to each other through the block at {:#x}, which was freed between "
      "their captures. Nothing reserves it for them: whatever gets the memory next, between the "
      "replays of the first and the second graph, overwrites what the second is about to read.",
      freed.address);
  finding.evidence.push_back(fmt::format(
      "Ledger: allocated at {}, freed at {}; graph {} was captured before that, graph {} after.",
      freed.allocated_at, freed.freed_at, names(context, before), names(context, after)));
  const auto owner = std::find_if(
      context.snapshot.ledger.begin(), context.snapshot.ledger.end(), [&](const Allocation& one) {
        return one.live() && one.allocated_at >= freed.freed_at && share_bytes(freed, one);
      });
  const bool taken = owner != context.snapshot.ledger.end();
  if (taken) finding.evidence.push_back("Ledger: the memory belongs to " + text(*owner) + " now.");
  finding.fix = fix_of(finding.rule);
  freshen(freed, graphs, finding.proof.cures);
  // Whoever has the memory now must not be harmed by the experiment.
  if (!taken && !freed.owner.empty()) {
    finding.proof.shows.filled_between = {{.owner = freed.owner, .value = kPoison}};
    finding.proof.cures.filled_between = finding.proof.shows.filled_between;
    finding.proof.words =
        "Between the replays of the graphs the freed block is overwritten, as its next owner may; "
        "then the same with one new buffer in place of the block in all of these graphs.";
  } else {
    finding.proof.words =
        "Plain replays of all graphs are compared with eager launches; then all of these graphs "
        "get one new buffer in place of the block.";
  }
  return finding;
}

// ---- Replayed at the same time ------------------------------------------------------------------

struct Conflict {
  Confidence confidence = Confidence::Possible;
  const char* why = nullptr;  // null = none
};

Conflict conflict_in(AllocationRole role, bool certainly_written) {
  if (role == AllocationRole::Workspace || role == AllocationRole::Tickets) {
    return {Confidence::Likely, "Kernels that are given such memory write to it."};
  }
  if (certainly_written) {
    return {Confidence::Likely, "A memset or a copy of one of them certainly writes there."};
  }
  if (role == AllocationRole::Counter) {
    return {Confidence::Possible,
            "A counter is written by whoever holds its address, unless it only waits for it."};
  }
  return {};
}

/// The graphs of the first wave that launches several of them; empty = none does.
std::vector<int> launched_together(const std::vector<GraphLaunch>& launches,
                                   const std::vector<int>& waves, const std::vector<int>& graphs) {
  std::vector<int> together;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (i > 0 && waves[i] != waves[i - 1]) {
      if (together.size() > 1) return together;
      together.clear();
    }
    // Launches of one executable graph wait for each other.
    const int graph = launches[i].graph;
    const bool holds = std::binary_search(graphs.begin(), graphs.end(), graph);
    const bool known = std::find(together.begin(), together.end(), graph) != together.end();
    if (holds && !known) together.push_back(graph);
  }
  return together.size() > 1 ? together : std::vector<int>();
}

Finding overlapping_finding(const RuleContext& context, int index, const std::vector<int>& graphs,
                            const Conflict& conflict) {
  const Allocation& shared = *context.allocation(index);
  Finding finding{.rule = "overlapping-graphs", .hazard = 11, .confidence = conflict.confidence};
  add_holders(context, index, graphs, finding);
  finding.title = fmt::format("Graphs {} are replayed at the same time and share {}",
                              names(context, graphs), text(shared));
  finding.explanation = fmt::format(
      "The graphs are launched on different streams, and neither waits for the other. Each writes "
      "to the memory at {:#x}, and may then read what another has written there. Eager launches on "
      "one stream are correct, and so are replays that happen not to overlap.",
      shared.address);
  finding.missing_order = "no event between the launches of graphs " + names(context, graphs);
  finding.evidence.emplace_back(conflict.why);
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "Plain replays, launched as the program does, are compared with eager launches; then the "
      "graph that is launched last gets separate memory.";
  freshen(shared, {graphs.back()}, finding.proof.cures);
  return finding;
}

// ---- Replayed in another order than captured ----------------------------------------------------

/// Positions in the order of launches.
struct Range {
  int first = 0;
  int last = 0;
};

class Lifetimes {
 public:
  explicit Lifetimes(const Snapshot& snapshot)
      : launches_(launches_of(snapshot)), waves_(waves_of(launches_)) {}

  /// When values in it are needed: from the first graph that holds it to the last; of one graph's
  /// temporary memory only while that runs.
  std::vector<Range> ranges(const std::vector<int>& graphs) const {
    std::vector<Range> ranges;
    for (int i = 0; i < static_cast<int>(launches_.size()); ++i) {
      const int graph = launches_[static_cast<std::size_t>(i)].graph;
      if (std::find(graphs.begin(), graphs.end(), graph) == graphs.end()) continue;
      if (ranges.empty() || graphs.size() == 1) {
        ranges.push_back({i, i});
      } else {
        ranges.back().last = i;
      }
    }
    return ranges;
  }

  /// `earlier` was given back before `later` was taken, so that within one launch it comes first.
  bool collide(const std::vector<Range>& earlier, const std::vector<Range>& later) const {
    for (const Range one : earlier) {
      for (const Range other : later) {
        const bool apart = wave(one.last) < wave(other.first) || wave(other.last) < wave(one.first);
        if (!apart && one.last != other.first) return true;
      }
    }
    return false;
  }

  bool launched_once(const std::vector<int>& graphs) const {
    return std::all_of(graphs.begin(), graphs.end(), [&](int graph) {
      return 1 == std::count_if(launches_.begin(), launches_.end(),
                                [graph](const GraphLaunch& one) { return one.graph == graph; });
    });
  }

  std::vector<int> order() const {
    std::vector<int> graphs;
    for (const GraphLaunch& launch : launches_) graphs.push_back(launch.graph);
    return graphs;
  }

 private:
  int wave(int launch) const { return waves_[static_cast<std::size_t>(launch)]; }

  std::vector<GraphLaunch> launches_;
  std::vector<int> waves_;
};

/// Graphs that were captured after the pool had got the piece back hold its address only if they
/// name it as a whole: within an argument structure it may be left over from an earlier call.
std::vector<int> believable_holders(const RuleContext& context, int allocation,
                                    const std::vector<int>& graphs) {
  const Allocation& piece = *context.allocation(allocation);
  std::vector<int> believable;
  std::ranges::copy_if(graphs, std::back_inserter(believable), [&](int graph) {
    if (piece.live() || piece.freed_at > context.graph(graph).capture_began) return true;
    return std::ranges::any_of(context.touches(graph), [&](const Touch& touch) {
      return touch.allocation == allocation && (touch.certain() || touch.whole_slot);
    });
  });
  return believable;
}

/// A piece of a pool that was handed out once.
struct PoolBlock {
  int allocation = 0;
  std::vector<int> graphs;  // that hold its address
  std::vector<Range> ranges;
};

Finding replay_order_finding(const RuleContext& context, const Lifetimes& lifetimes,
                             const PoolBlock& earlier, const PoolBlock& later) {
  const Allocation& first = *context.allocation(earlier.allocation);
  const Allocation& second = *context.allocation(later.allocation);
  const bool once =
      lifetimes.launched_once(earlier.graphs) && lifetimes.launched_once(later.graphs);
  Finding finding{.rule = "replay-order",
                  .hazard = 4,
                  .confidence = once ? Confidence::Likely : Confidence::Possible};
  add_holders(context, earlier.allocation, earlier.graphs, finding);
  add_holders(context, later.allocation, later.graphs, finding);
  finding.title = fmt::format(
      "{} and {} are the same memory of the graphs' pool, and the order of replays needs both at "
      "once",
      text(first), text(second));
  std::vector<int> captured = lifetimes.order();
  std::sort(captured.begin(), captured.end());
  captured.erase(std::unique(captured.begin(), captured.end()), captured.end());
  finding.explanation = fmt::format(
      "During the captures the pool got {} back before it gave out {}, so it used the block at "
      "{:#x} again. That is right only for replays in an order in which the first is no longer "
      "needed when the second is written. The step replays {}; graphs {} use the first, graphs {} "
      "the second.",
      text(first), text(second), std::max(first.address, second.address),
      names(context, lifetimes.order()), names(context, earlier.graphs),
      names(context, later.graphs));
  finding.evidence.push_back(
      fmt::format("Order of the captures: {}; ledger: given back at {}, taken again at {}.",
                  names(context, captured), first.freed_at, second.allocated_at));
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "Plain replays in the step's order are compared with eager launches; then the graphs that "
      "got the block later get one new buffer in its place.";
  freshen(second, later.graphs, finding.proof.cures);
  return finding;
}

}  // namespace

bool freed_between(const RuleContext& context, const Allocation& allocation,
                   const std::vector<int>& graphs) {
  if (allocation.live() || !is_subjects_device_memory(allocation) ||
      context.in_graph_pool(allocation)) {
    return false;
  }
  const auto before = [&](int graph) {
    return context.graph(graph).capture_ended != 0 &&
           allocation.freed_at > context.graph(graph).capture_ended;
  };
  const auto after = [&](int graph) {
    return allocation.freed_at <= context.graph(graph).capture_began;
  };
  return std::any_of(graphs.begin(), graphs.end(), before) &&
         std::any_of(graphs.begin(), graphs.end(), after);
}

void find_memory_freed_between_graphs(RuleContext& context, std::vector<Finding>& findings) {
  for (const auto& [index, graphs] : holders_of(context)) {
    if (!freed_between(context, *context.allocation(index), graphs)) continue;
    findings.push_back(freed_between_finding(context, index, graphs));
  }
}

void find_overlapping_graphs(RuleContext& context, std::vector<Finding>& findings) {
  const std::vector<GraphLaunch> launches = launches_of(context.snapshot);
  const std::vector<int> waves = waves_of(launches);
  const bool all_apart = waves.empty() || waves.back() + 1 == static_cast<int>(waves.size());
  if (all_apart || launches.size() > kMaxOrderedLaunches) return;
  std::set<int> written;  // by a memset or a copy, in any graph
  for (int g = 0; g < context.graphs(); ++g) {
    for (const Touch& touch : context.touches(g)) {
      if (touch.writes()) written.insert(touch.allocation);
    }
  }
  for (const auto& [index, graphs] : holders_of(context)) {
    const Allocation& allocation = *context.allocation(index);
    if (graphs.size() < 2 || !is_subjects_device_memory(allocation)) continue;
    const Conflict conflict = conflict_in(allocation.role, written.contains(index));
    if (conflict.why == nullptr) continue;
    const std::vector<int> together = launched_together(launches, waves, graphs);
    if (together.empty()) continue;
    findings.push_back(overlapping_finding(context, index, together, conflict));
  }
}

void find_replay_order(RuleContext& context, std::vector<Finding>& findings) {
  const Lifetimes lifetimes(context.snapshot);
  if (context.snapshot.pools.empty() || lifetimes.order().size() > kMaxOrderedLaunches) return;
  std::vector<PoolBlock> blocks;
  for (const auto& [index, all_graphs] : holders_of(context)) {
    if (!context.in_graph_pool(*context.allocation(index))) continue;
    const std::vector<int> graphs = believable_holders(context, index, all_graphs);
    if (graphs.empty()) continue;
    blocks.push_back({.allocation = index, .graphs = graphs, .ranges = lifetimes.ranges(graphs)});
  }
  const auto count = static_cast<std::int64_t>(blocks.size());
  if (count * count > kMaxPoolPairs) return;
  int reported = 0;
  for (const PoolBlock& earlier : blocks) {
    const Allocation& first = *context.allocation(earlier.allocation);
    if (first.live()) continue;
    for (const PoolBlock& later : blocks) {
      const Allocation& second = *context.allocation(later.allocation);
      if (second.allocated_at < first.freed_at || !share_bytes(first, second)) continue;
      if (!lifetimes.collide(earlier.ranges, later.ranges)) continue;
      findings.push_back(replay_order_finding(context, lifetimes, earlier, later));
      if (++reported == kMaxReported) return;
    }
  }
}

}  // namespace profiling
