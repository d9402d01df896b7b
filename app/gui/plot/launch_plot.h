// Multiprocessors over time within one launch: a bar per tile, coloured by expert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "app/gui/plot/heatmap_plot.h"
#include "app/plot/launch_tiles.h"

namespace app::plot {

struct LaunchPlotState {
  PlotView view;
  Texture texture;
  DrawingKey painted{Theme()};
  std::size_t tiles = 0;  // LaunchImage, of the texture
  std::size_t narrow = 0;
};

struct LaunchPlotSpec {
  const char* id = "";
  ImVec2 size{};
  std::uint64_t generation = 0;  // identifies the launch
  int experts = 0;
  int selected = -1;  // expert; the tiles of others are dim
};

struct LaunchPlotResult {
  std::optional<std::uint32_t> tile{};  // under the mouse, of TiledLaunch::kept
  bool clicked = false;
  int shown_every = 1;  // multiprocessors
};

LaunchPlotResult draw_launch(const PanelContext& context, const LaunchPlotSpec& spec,
                             const engine::TiledLaunch& launch, const LaunchRows& rows,
                             LaunchPlotState& state);

/// Which colours stand for which experts.
void draw_expert_legend(const PanelContext& context, ImVec2 at, int experts);
float expert_legend_width(const Theme& theme, int experts);

}  // namespace app::plot
