#include "profiling/attach/preload/conditional_nodes.h"

#include <mutex>

#include "profiling/attach/preload/spin_lock.h"

namespace attach {
namespace {

/// The newest ones: a graph is mostly instantiated soon after it was made.
struct Noted {
  CUgraphNode node;
  ConditionalBodies bodies;
};
constexpr std::size_t kNoted = 1024;
constinit Noted g_noted[kNoted]{};
constinit std::size_t g_next = 0;
constinit SpinLock g_lock{};

}  // namespace

void note_conditional(CUgraphNode node, const CUDA_CONDITIONAL_NODE_PARAMS& parameters) {
  const std::lock_guard locked(g_lock);
  Noted* place = nullptr;
  for (Noted& one : g_noted) {
    if (one.node == node) place = &one;  // of a node that is gone
  }
  if (place == nullptr) {
    place = &g_noted[g_next];
    g_next = (g_next + 1) % kNoted;
  }
  *place = {
      .node = node,
      .bodies = {
          .kind = parameters.type, .count = parameters.size, .graphs = parameters.phGraph_out}};
}

void unlock_conditionals_of_parent() { g_lock.reset(); }

bool read_conditional(const GraphApi& api, CUgraphNode node, ConditionalBodies& bodies) {
  if (api.get_parameters != nullptr) {
    CUgraphNodeParams parameters{};
    if (api.get_parameters(node, &parameters) == CUDA_SUCCESS &&
        parameters.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
      bodies = {.kind = parameters.conditional.type,
                .count = parameters.conditional.size,
                .graphs = parameters.conditional.phGraph_out};
      return bodies.graphs != nullptr;
    }
  }
  const std::lock_guard locked(g_lock);
  for (const Noted& one : g_noted) {
    if (one.node != node) continue;
    bodies = one.bodies;
    return bodies.graphs != nullptr;
  }
  return false;
}

}  // namespace attach
