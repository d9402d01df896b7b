#include "profiling/hazards/snapshot/launch_order.h"

namespace profiling {

std::vector<GraphLaunch> launches_of(const Snapshot& snapshot) {
  if (!snapshot.launches.empty()) return snapshot.launches;
  std::vector<GraphLaunch> launches;
  for (int g = 0; g < static_cast<int>(snapshot.graphs.size()); ++g) {
    if (snapshot.graphs[static_cast<std::size_t>(g)].variant_of < 0)
      launches.push_back({.graph = g});
  }
  return launches;
}

std::vector<int> waves_of(std::span<const GraphLaunch> launches) {
  std::vector<int> waves;
  int wave = -1;
  for (const GraphLaunch& launch : launches) {
    if (!launch.overlaps || wave < 0) ++wave;
    waves.push_back(wave);
  }
  return waves;
}

}  // namespace profiling
