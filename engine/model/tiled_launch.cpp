#include "engine/model/tiled_launch.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <tuple>

namespace engine {
namespace {

/// What the tiles of one multiprocessor show, ordered by begin.
struct Stay {
  std::int64_t busy_ns = 0;
  std::int64_t end_ns = 0;
  int at_once = 0;
};

Stay stay_of(std::span<const LaunchTile> tiles) {
  Stay stay;
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> running;
  for (const LaunchTile& tile : tiles) {
    while (!running.empty() && running.top() <= tile.begin_ns) running.pop();
    running.push(tile.end_ns);
    stay.at_once = std::max(stay.at_once, static_cast<int>(running.size()));
    stay.busy_ns += std::max(tile.end_ns - std::max(tile.begin_ns, stay.end_ns), std::int64_t{0});
    stay.end_ns = std::max(stay.end_ns, tile.end_ns);
  }
  return stay;
}

/// Whole multiprocessors: a part of one's tiles would look like pauses.
void keep_tiles(std::vector<LaunchTile> tiles, TiledLaunch& launch) {
  const auto left_out = [&](const LaunchTile& tile) {
    return tile.multiprocessor % launch.kept_every != 0;
  };
  const auto kept = [&] { return tiles.size() - std::ranges::count_if(tiles, left_out); };
  while (kept() > kMostLaunchTiles && launch.kept_every < launch.multiprocessors) {
    ++launch.kept_every;
  }
  std::erase_if(tiles, left_out);
  if (tiles.size() > kMostLaunchTiles) tiles.resize(kMostLaunchTiles);
  launch.kept = std::move(tiles);
}

}  // namespace

TiledLaunch tiled_launch(Stage stage, WrittenValue writes, int multiprocessors,
                         std::vector<LaunchTile> tiles) {
  TiledLaunch launch{.stage = stage,
                     .writes = writes,
                     .launches = 1,
                     .multiprocessors = multiprocessors,
                     .tiles = std::ssize(tiles)};
  if (tiles.empty()) return launch;
  std::ranges::sort(tiles, {}, [](const LaunchTile& tile) {
    return std::tuple(tile.multiprocessor, tile.begin_ns, tile.tile);
  });
  launch.multiprocessors = std::max(multiprocessors, tiles.back().multiprocessor + 1);
  const std::int64_t begin_ns = std::ranges::min(tiles, {}, &LaunchTile::begin_ns).begin_ns;
  for (LaunchTile& tile : tiles) {
    tile.begin_ns -= begin_ns;
    tile.end_ns -= begin_ns;
  }
  std::int64_t first_end_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t busiest_ns = 0;
  double busy_ns = 0.0;
  for (auto from = tiles.begin(); from != tiles.end();) {
    const auto to = std::ranges::find_if(from, tiles.end(), [&](const LaunchTile& tile) {
      return tile.multiprocessor != from->multiprocessor;
    });
    const Stay stay = stay_of({from, to});
    ++launch.occupied;
    launch.tiles_at_once = std::max(launch.tiles_at_once, stay.at_once);
    launch.duration_ns = std::max(launch.duration_ns, stay.end_ns);
    first_end_ns = std::min(first_end_ns, stay.end_ns);
    busiest_ns = std::max(busiest_ns, stay.busy_ns);
    busy_ns += static_cast<double>(stay.busy_ns);
    from = to;
  }
  launch.tail_ns = launch.duration_ns - first_end_ns;
  const double mean_ns = busy_ns / launch.multiprocessors;
  if (launch.duration_ns > 0) {
    // A sum of rounded parts could exceed the whole by a bit.
    launch.busy_share = std::min(mean_ns / static_cast<double>(launch.duration_ns), 1.0);
  }
  if (mean_ns > 0.0) launch.imbalance = static_cast<double>(busiest_ns) / mean_ns;
  keep_tiles(std::move(tiles), launch);
  return launch;
}

}  // namespace engine
