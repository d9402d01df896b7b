#include "profiling/hazards/snapshot/node_order.h"

#include <functional>
#include <queue>

namespace profiling {

std::vector<std::size_t> dependency_order(
    std::size_t count, std::span<const std::pair<std::size_t, std::size_t>> edges) {
  std::vector<std::vector<std::size_t>> after(count);
  std::vector<std::size_t> waits_for(count, 0);
  for (const auto& [from, to] : edges) {
    after[from].push_back(to);
    ++waits_for[to];
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t node = 0; node < count; ++node) {
    if (waits_for[node] == 0) ready.push(node);
  }
  std::vector<std::size_t> order;
  order.reserve(count);
  while (!ready.empty()) {
    const std::size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const std::size_t next : after[node]) {
      if (--waits_for[next] == 0) ready.push(next);
    }
  }
  return order;
}

}  // namespace profiling
