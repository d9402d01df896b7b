#include "app/gui/plot/launch_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "app/gui/plot/plot_text.h"

namespace app::plot {
namespace {

constexpr int kMostPixels = 2048;  // per side: every GL 3.3 device supports a texture of them

ImU32 expert_color(const Theme& theme, int expert, int experts) {
  return theme.group(static_cast<std::size_t>(expert), static_cast<std::size_t>(experts));
}

std::vector<ImU32> expert_colors(const Theme& theme, int experts, int selected) {
  std::vector<ImU32> colors;
  for (int expert = 0; expert < std::max(experts, 1); ++expert) {
    const ImU32 color = expert_color(theme, expert, experts);
    colors.push_back(selected < 0 || expert == selected ? color : faded(color, 0.22F));
  }
  return colors;
}

constexpr float kLegendBar = 72;

std::string last_expert(int experts) { return fmt::format("{}", std::max(experts, 1) - 1); }

}  // namespace

LaunchPlotResult draw_launch(const PanelContext& context, const LaunchPlotSpec& spec,
                             const engine::TiledLaunch& launch, const LaunchRows& rows,
                             LaunchPlotState& state) {
  const Theme& theme = context.theme;
  const auto duration = static_cast<double>(std::max<std::int64_t>(launch.duration_ns, 1));
  const FrameSpec frame_spec{
      .id = spec.id,
      .size = spec.size,
      .x = {.kind = AxisKind::Nanoseconds, .label = "in the launch", .limits = {0.0, duration}},
      .y = {.kind = AxisKind::Integer,
            .label = "SM",
            .limits = {0.0, static_cast<double>(rows.multiprocessors)}},
      .selectable = false,
      .min_span = std::min(100.0, duration)};
  const PlotFrame frame(context, frame_spec, state.view);
  const ImVec2 min = frame.min();
  const ImVec2 max = frame.max();
  const int width = std::clamp(static_cast<int>(max.x - min.x), 1, kMostPixels);
  const int height = std::clamp(static_cast<int>(max.y - min.y), 1, kMostPixels);
  const DrawingKey key(theme, spec.generation, width, height, frame.x().view, spec.experts,
                       spec.selected);
  if (state.texture.empty() || !(state.painted == key)) {
    const LaunchImage image =
        paint_launch(launch, rows,
                     {.width = width,
                      .height = height,
                      .view = frame.x().view,
                      .colors = expert_colors(theme, spec.experts, spec.selected),
                      .front = spec.selected});
    state.texture.upload(width, height, image.pixels);
    state.painted = key;
    state.tiles = image.tiles;
    state.narrow = image.narrow;
  }
  frame.draw()->AddImage(state.texture.id(), min, max);
  LaunchPlotResult result{.shown_every = shown_every(rows, height)};
  if (!frame.hovered()) return result;
  const double y = static_cast<double>((frame.mouse().y - min.y) / (max.y - min.y)) * height;
  result.tile = tile_at(launch, rows, height, y, frame.hover_x());
  result.clicked = frame.clicked();
  return result;
}

float expert_legend_width(const Theme& theme, int experts) {
  const ImFont* font = theme.fonts.label;
  return text_size(font, "expert 0").x + text_size(font, last_expert(experts)).x +
         theme.px(kLegendBar + 2 * kGapSmall);
}

void draw_expert_legend(const PanelContext& context, ImVec2 at, int experts) {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImFont* font = theme.fonts.label;
  draw_text(draw, font, at, theme.colors.dim_text, "expert 0");
  const float left = std::round(at.x + text_size(font, "expert 0").x + theme.px(kGapSmall));
  const float top = std::round(at.y + 0.5F * (font->FontSize - theme.px(8)));
  const int steps = std::clamp(experts, 1, 32);
  const auto edge = [&](int i) {
    return std::round(left +
                      theme.px(kLegendBar) * static_cast<float>(i) / static_cast<float>(steps));
  };
  for (int i = 0; i < steps; ++i) {
    draw->AddRectFilled(ImVec2(edge(i), top), ImVec2(edge(i + 1), top + std::round(theme.px(8))),
                        expert_color(theme, i, steps));
  }
  draw_text(draw, font, ImVec2(edge(steps) + theme.px(kGapSmall), at.y), theme.colors.dim_text,
            last_expert(experts));
}

}  // namespace app::plot
