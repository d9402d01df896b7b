// Hazard 10: a counter or flag that a kernel increments or waits for and nothing in the graph
// resets. The first replay leaves it in a state that no launch expects.
#include <fmt/format.h>

#include <map>

#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

using engine::Allocation;

struct Counter {
  std::vector<std::pair<int, Touch>> users;  // graph, touch
  std::vector<std::pair<int, Touch>> resets;
};

bool same_range(const Touch& reset, const Touch& user) {
  return user.word >= reset.word && user.word - reset.word < reset.bytes;
}

/// In another graph, or in this one in a fixed order. After the user is fine too: it resets for the
/// next replay.
bool is_reset(RuleContext& context, const Counter& counter, int graph, const Touch& user) {
  for (const auto& [reset_graph, reset] : counter.resets) {
    if (!same_range(reset, user)) continue;
    if (reset_graph != graph || context.any_order(graph).ordered(reset.node, user.node)) {
      return true;
    }
  }
  return false;
}

}  // namespace

void find_unreset_counters(RuleContext& context, std::vector<Finding>& findings) {
  std::map<int, Counter> counters;
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g)) continue;
    for (const Touch& touch : context.touches(g)) {
      const Allocation* allocation = context.allocation(touch.allocation);
      if (allocation == nullptr || allocation->role != engine::AllocationRole::Counter) continue;
      if (touch.writes()) {
        counters[touch.allocation].resets.emplace_back(g, touch);
      } else if (touch.place == Touch::Place::Parameter) {
        counters[touch.allocation].users.emplace_back(g, touch);
      }
    }
  }
  for (const auto& [index, counter] : counters) {
    const Allocation& allocation = *context.allocation(index);
    Finding finding{.rule = "unreset-counter", .hazard = 10, .confidence = Confidence::Likely};
    for (const auto& [graph, user] : counter.users) {
      if (is_reset(context, counter, graph, user)) continue;
      add_node(finding.nodes, {graph, user.node});
      add_access(finding.accesses, context.access(graph, user));
    }
    if (finding.nodes.empty()) continue;
    finding.title = fmt::format("No node resets {}, which {} uses", text(allocation),
                                context.text(finding.nodes));
    finding.explanation =
        "Memory that counts or signals must have a known value when the kernel starts. Outside of "
        "the graph the program may reset it between steps; a replay launches the graph's nodes and "
        "nothing else, so the second one starts from what the first left: blocks wait for a count "
        "that never comes, or continue too early.";
    finding.evidence.push_back(
        "No memset or copy node of the graph writes there in a fixed order with the kernel. A "
        "kernel that resets it itself cannot be recognized from the outside.");
    finding.fix = fix_of(finding.rule);
    finding.proof.words =
        "Plain replays are compared with eager launches; then the counter is set to 0 before every "
        "replay. A hang or wrong results before and none after prove it.";
    if (!allocation.owner.empty()) {
      finding.proof.cures.filled.push_back({.owner = allocation.owner, .value = 0});
    }
    findings.push_back(std::move(finding));
  }
}

}  // namespace profiling
