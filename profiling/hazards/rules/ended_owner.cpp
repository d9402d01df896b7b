// Memory that goes with a graph: its pool ends when it is destroyed, and graphs that were captured
// meanwhile may hold pieces of it, of a workspace that a library has cached for example.
#include <fmt/format.h>

#include <algorithm>

#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

using engine::Allocation;

bool holds(const RuleContext& context, int graph, int allocation) {
  return std::ranges::any_of(context.touches(graph), [&](const Touch& touch) {
    return touch.place != Touch::Place::Descriptor &&
           (touch.allocation == allocation ||
            context.segments().behind(touch.allocation) == allocation);
  });
}

int first_holder(const RuleContext& context, int allocation) {
  int first = -1;
  for (int g = 0; g < context.graphs(); ++g) {
    const bool earlier =
        first < 0 || context.graph(g).capture_began < context.graph(first).capture_began;
    if (earlier && holds(context, g, allocation)) first = g;
  }
  return first;
}

}  // namespace

const GraphSnapshot* ended_owner(const RuleContext& context, int allocation, int graph) {
  const Allocation& memory = *context.allocation(allocation);
  int owner = memory.made_for.empty() ? -1 : context.graph_named(memory.made_for);
  const bool made_for_it = owner >= 0;
  if (!made_for_it && !is_pool_block(memory)) owner = first_holder(context, allocation);
  if (owner < 0 || owner == graph) return nullptr;
  const GraphSnapshot& found = context.graph(owner);
  // What is not the graph's own goes with it only if it was released afterwards.
  const bool ended = found.destroyed_at != 0 &&
                     !context.graph(graph).unused_since(found.destroyed_at) &&
                     (made_for_it || memory.freed_at > found.destroyed_at);
  return ended ? &found : nullptr;
}

std::string ownership(const Allocation& allocation, const GraphSnapshot& owner) {
  return fmt::format("\"{}\", {}, was captured from {} to {} and destroyed at {}.", owner.name,
                     allocation.made_for == owner.name ? "in whose capture the memory was made"
                                                       : "the first graph that used the memory",
                     owner.capture_began, owner.capture_ended, owner.destroyed_at);
}

}  // namespace profiling
