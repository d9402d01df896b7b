// One launch as its tiles saw it: when each of them ran, on which multiprocessor, for which expert.
// Plain values, no CUDA.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/model/fields.h"
#include "engine/model/stage.h"
#include "engine/model/written_value.h"

namespace engine {

struct LaunchTile {
  std::int64_t begin_ns = 0;  // since the begin of the launch's first tile
  std::int64_t end_ns = 0;
  int multiprocessor = 0;  // %smid
  int expert = 0;
  std::int64_t tile = 0;  // its number in the launch; numbers that did not run are missing
  bool operator==(const LaunchTile&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&LaunchTile::begin_ns>(kDuration_ns),
                      engine::field<&LaunchTile::end_ns>(kDuration_ns),
                      engine::field<&LaunchTile::multiprocessor>({.low = 0}),
                      engine::field<&LaunchTile::expert>({.low = 0}),
                      engine::field<&LaunchTile::tile>(kCount)};
  }
};

/// Tiles that are kept of one launch. A launch with more keeps those of every second, third, ...
/// multiprocessor.
inline constexpr std::size_t kMostLaunchTiles = std::size_t{1} << 15;

/// A stamped launch, apart from the timed ones. Its figures are those of all tiles that ran, also
/// if not all are kept. Lowest time: the begin of the first tile; the launch's own begin is earlier
/// by what a thread block does before its first tile.
struct TiledLaunch {
  Stage stage = Stage::Fprop;
  WrittenValue writes = WrittenValue::Unknown;  // with the stage: operation_name()
  int launches = 0;              // that were stamped; this is the one of median duration
  int multiprocessors = 0;       // of the device
  int occupied = 0;              // of these, with at least one tile
  int tiles_at_once = 0;         // at most, on one multiprocessor
  std::int64_t tiles = 0;        // that ran
  std::int64_t duration_ns = 0;  // from the begin of the first tile to the end of the last
  /// From the end of the last tile of the first occupied multiprocessor without another to the end
  /// of the launch.
  std::int64_t tail_ns = 0;
  double busy_share = 0.0;  // of multiprocessors * duration: with at least one tile running
  double imbalance = 0.0;   // busy time of the busiest multiprocessor over the mean of all
  int kept_every = 1;       // 2 = `kept` has the tiles of every second multiprocessor
  std::vector<LaunchTile> kept = {};  // by multiprocessor, then begin

  /// Tiles that all multiprocessors run at once if each runs `tiles_at_once` of them.
  std::int64_t places() const { return std::int64_t{multiprocessors} * tiles_at_once; }
  /// Rounds of `places()` that it takes to run all tiles.
  double waves() const {
    return places() > 0 ? static_cast<double>(tiles) / static_cast<double>(places()) : 0.0;
  }
  double tail_share() const {
    return duration_ns > 0 ? static_cast<double>(tail_ns) / static_cast<double>(duration_ns) : 0.0;
  }

  bool operator==(const TiledLaunch&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&TiledLaunch::stage>(),
        engine::field<&TiledLaunch::writes>(),
        engine::field<&TiledLaunch::launches>(kCount),
        engine::field<&TiledLaunch::multiprocessors>({.low = 0, .high = 1 << 20}),
        engine::field<&TiledLaunch::occupied>({.low = 0, .high = 1 << 20}),
        engine::field<&TiledLaunch::tiles_at_once>(kCount),
        engine::field<&TiledLaunch::tiles>(kCount),
        engine::field<&TiledLaunch::duration_ns>(kDuration_ns),
        engine::field<&TiledLaunch::tail_ns>(kDuration_ns),
        engine::field<&TiledLaunch::busy_share>({.low = 0.0, .high = 1.0}),
        engine::field<&TiledLaunch::imbalance>({.low = 0.0}),
        engine::field<&TiledLaunch::kept_every>({.low = 1}),
        engine::field<&TiledLaunch::kept>({.most = kMostLaunchTiles, .columns = true})};
  }
};

/// What `tiles` show: their figures, and those of them that are kept. Times of the tiles may begin
/// anywhere; `multiprocessors` is raised to the largest number among the tiles.
TiledLaunch tiled_launch(Stage stage, WrittenValue writes, int multiprocessors,
                         std::vector<LaunchTile> tiles);

}  // namespace engine
