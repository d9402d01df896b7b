// The tiles of one launch as rows of bars, a row per multiprocessor, and their picture pixel by
// pixel: its cost is bounded by the pixels and the tiles in view, and nothing is drawn bar by bar.
// No ImGui calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "app/plot/range.h"
#include "engine/model/tiled_launch.h"

namespace app::plot {

/// The tiles of a multiprocessor that ran one after another; indices into TiledLaunch::kept, by
/// begin. A multiprocessor that runs several at once has as many rows.
struct LaunchRow {
  int multiprocessor = 0;
  int place = 0;  // among the rows of this multiprocessor
  std::vector<std::uint32_t> tiles{};
};

struct LaunchRows {
  int multiprocessors = 0;
  int places = 1;      // most rows of one multiprocessor
  int kept_every = 1;  // TiledLaunch::kept_every
  std::vector<LaunchRow> rows{};
};
LaunchRows launch_rows(const engine::TiledLaunch& launch);

/// Multiprocessors whose rows are shown: every n-th, where the picture is too low for all of them.
int shown_every(const LaunchRows& rows, int height);

struct LaunchImageSpec {
  int width = 0;  // pixels
  int height = 0;
  Range view{};                         // ns
  std::vector<std::uint32_t> colors{};  // of the experts
  int front = -1;                       // expert whose tiles cover others in a shared pixel
};

struct LaunchImage {
  std::vector<std::uint32_t> pixels{};  // [height, width]; 0 = nothing runs
  std::size_t tiles = 0;                // in view, of the rows shown
  std::size_t narrow = 0;               // of these, less than a pixel wide
};
/// Multiprocessor 0 is at the bottom. Neighbours that are wide enough have a gap between them.
LaunchImage paint_launch(const engine::TiledLaunch& launch, const LaunchRows& rows,
                         const LaunchImageSpec& spec);

/// Index of the tile at this time in the row at `y` pixels from the top.
std::optional<std::uint32_t> tile_at(const engine::TiledLaunch& launch, const LaunchRows& rows,
                                     int height, double y, double time_ns);

}  // namespace app::plot
