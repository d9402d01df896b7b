#include "profiling/attach/preload/update_order.h"

#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/handle_index.h"
#include "profiling/attach/preload/scratch.h"

namespace attach {
namespace {

/// Of drivers since CUDA 12.3: earlier calls refuse edges with a type.
struct NeighbourApi {
  decltype(&::cuGraphNodeGetDependencies_v2) before;
  decltype(&::cuGraphNodeGetDependentNodes_v2) behind;
};

}  // namespace

bool update_order(const CUgraphNode* nodes, std::size_t count, std::uint32_t* order) {
  NeighbourApi api{};
  HandleIndex places(nodes, count);
  // Where the incoming edges of each node begin; one more for the end.
  Scratch<std::size_t> first(count + 1);
  if (!find_call(api.before, "cuGraphNodeGetDependencies_v2") ||
      !find_call(api.behind, "cuGraphNodeGetDependentNodes_v2") || !places ||
      first.data() == nullptr)
    return false;
  std::size_t edges = 0;
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t incoming = 0;
    if (api.before(nodes[n], nullptr, nullptr, &incoming) != CUDA_SUCCESS) return false;
    first[n] = edges;
    edges += incoming;
  }
  first[count] = edges;
  Scratch<CUgraphNode> sources(edges);
  Scratch<CUgraphEdgeData> kinds(edges);
  Scratch<std::size_t> next(count);    // edge that is followed next
  Scratch<std::uint32_t> open(count);  // nodes on the way from a sink
  Scratch<std::uint8_t> seen(count);
  if (sources.data() == nullptr || kinds.data() == nullptr || next.data() == nullptr ||
      open.data() == nullptr || seen.data() == nullptr) {
    return false;
  }
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t incoming = first[n + 1] - first[n];
    next[n] = first[n];
    if (incoming > 0 && api.before(nodes[n], sources.data() + first[n], kinds.data() + first[n],
                                   &incoming) != CUDA_SUCCESS)
      return false;
  }
  std::size_t placed = 0;
  for (std::size_t sink = 0; sink < count; ++sink) {
    std::size_t outgoing = 0;
    if (api.behind(nodes[sink], nullptr, nullptr, &outgoing) != CUDA_SUCCESS) return false;
    if (outgoing > 0) continue;
    std::size_t depth = 0;
    open[depth++] = static_cast<std::uint32_t>(sink);
    seen[sink] = 1;
    while (depth > 0) {
      const std::uint32_t node = open[depth - 1];
      if (next[node] == first[node + 1]) {
        order[placed++] = node;
        --depth;
        continue;
      }
      const std::int32_t before = places.find(sources[next[node]++]);
      if (before < 0 || seen[static_cast<std::size_t>(before)] != 0) continue;
      seen[static_cast<std::size_t>(before)] = 1;
      open[depth++] = static_cast<std::uint32_t>(before);
    }
  }
  return placed == count;
}

}  // namespace attach
