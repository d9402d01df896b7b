// What TopologyView paints, limited to the visible canvas; boxes lower than a few pixels become
// dots, so that ten thousand nodes stay smooth on a software renderer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/graph/node_text.h"
#include "app/gui/graph/topology_view.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_frame.h"
#include "app/gui/plot/plot_text.h"
#include "profiling/hazards/model/names.h"

namespace app {
namespace {

constexpr float kDotsBelow = 3.0F;   // box height in pixels
constexpr float kTextAbove = 11.0F;  // relative to the label font's 11 pixels
constexpr std::size_t kLinesInReadOut = 8;

ImU32 confidence_color(const Theme& theme, profiling::Confidence confidence) {
  switch (confidence) {
    case profiling::Confidence::Proved:
    case profiling::Confidence::Likely:
      return theme.colors.bad;
    case profiling::Confidence::Possible:
      return theme.colors.warn;
    case profiling::Confidence::Disproved:
      return theme.colors.good;
  }
  return theme.colors.line;
}

bool outside(ImVec2 low, ImVec2 high, ImVec2 min, ImVec2 max) {
  return high.x < min.x || low.x > max.x || high.y < min.y || low.y > max.y;
}

void draw_dashed(ImDrawList* draw, ImVec2 from, ImVec2 to, ImU32 color, float dash, float width) {
  const float length = std::hypot(to.x - from.x, to.y - from.y);
  if (length < dash) return draw->AddLine(from, to, color, width);
  const ImVec2 step((to.x - from.x) / length, (to.y - from.y) / length);
  // An edge across the whole graph, zoomed in, is thousands of dashes long.
  const float apart = std::max(2.0F * dash, length / 400.0F);
  for (float at = 0.0F; at < length; at += apart) {
    const float end = std::min(at + 0.5F * apart, length);
    draw->AddLine(ImVec2(from.x + step.x * at, from.y + step.y * at),
                  ImVec2(from.x + step.x * end, from.y + step.y * end), color, width);
  }
}

}  // namespace

ImU32 TopologyView::color_of(const PanelContext& context, const GraphScene& scene, int node) const {
  const Theme& theme = context.theme;
  switch (static_cast<NodeColors>(colors_)) {
    case NodeColors::Stage:
      return theme.stage(scene.graph()->nodes[static_cast<std::size_t>(node)].stage);
    case NodeColors::Finding: {
      const auto suspicion = scene.suspicion(node);
      return suspicion ? confidence_color(theme, *suspicion) : theme.colors.line;
    }
    case NodeColors::Time: {
      const double us = scene.node_us(node);
      if (std::isnan(us) || scene.longest_us() <= 0.0) return theme.colors.line;
      return theme.sequential(static_cast<float>(us / scene.longest_us()));
    }
  }
  return theme.colors.line;
}

void TopologyView::draw_edges(const PanelContext& context, const GraphScene& scene,
                              const Canvas& canvas) const {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const std::vector<GraphLayout::Place>& places = scene.facts()->layout.places;
  const bool dots = scale_ < kDotsBelow;
  const ImDrawListFlags flags = draw->Flags;
  // Thousands of hairlines: antialiased ones cost three times as many vertices.
  if (dots) draw->Flags &= ~ImDrawListFlags_AntiAliasedLines;
  for (const profiling::SnapshotEdge& edge : scene.graph()->edges) {
    const auto count = static_cast<int>(places.size());
    if (edge.from < 0 || edge.to < 0 || edge.from >= count || edge.to >= count) continue;
    const GraphLayout::Place& a = places[static_cast<std::size_t>(edge.from)];
    const GraphLayout::Place& b = places[static_cast<std::size_t>(edge.to)];
    const float half = 0.5F * GraphLayout::kBoxWidth;
    const ImVec2 from = canvas.to_pixel(a.x + half, a.y, *this);
    const ImVec2 to = canvas.to_pixel(b.x - half, b.y, *this);
    const ImVec2 low(std::min(from.x, to.x), std::min(from.y, to.y));
    const ImVec2 high(std::max(from.x, to.x), std::max(from.y, to.y));
    if (outside(low, high, canvas.min, canvas.max)) continue;
    const bool chosen = scene.node() == edge.from || scene.node() == edge.to;
    if (dots && !chosen && high.x - low.x + high.y - low.y < 2.0F) continue;
    const ImU32 color =
        chosen ? theme.colors.accent : plot::faded(theme.colors.dim_text, dots ? 0.25F : 0.7F);
    const float width = chosen ? theme.px(2) : 1.0F;
    if (edge.kind != profiling::EdgeKind::Full) {
      const ImU32 loose = chosen ? color : theme.colors.warn;
      draw_dashed(draw, from, to, loose,
                  edge.kind == profiling::EdgeKind::Programmatic ? 6.0F : 2.5F,
                  std::max(width, 1.5F));
    } else if (a.band != b.band || dots) {
      // Between bands: a hint of a line, as in text that goes on below.
      draw->AddLine(from, to, chosen ? color : plot::faded(color, a.band == b.band ? 1.0F : 0.35F),
                    width);
    } else {
      const float bend = 0.4F * (to.x - from.x);
      draw->AddBezierCubic(from, ImVec2(from.x + bend, from.y), ImVec2(to.x - bend, to.y), to,
                           color, width, 10);
    }
  }
  draw->Flags = flags;
}

void TopologyView::draw_nodes(const PanelContext& context, const GraphScene& scene,
                              const Canvas& canvas,
                              const std::vector<profiling::NodeState>& board) {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const profiling::GraphSnapshot& graph = *scene.graph();
  const std::vector<GraphLayout::Place>& places = scene.facts()->layout.places;
  const float half = 0.5F * GraphLayout::kBoxWidth;
  const bool dots = scale_ < kDotsBelow;
  drawn_ = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const int node = static_cast<int>(i);
    const ImVec2 low = canvas.to_pixel(places[i].x - half, places[i].y - 0.5F, *this);
    ImVec2 high = canvas.to_pixel(places[i].x + half, places[i].y + 0.5F, *this);
    if (outside(low, high, canvas.min, canvas.max)) continue;
    ++drawn_;
    ImU32 color = color_of(context, scene, node);
    if (i < board.size() && board[i] == profiling::NodeState::NotReached) {
      color = plot::faded(color, 0.25F);
    }
    const bool chosen = node == scene.node();
    const bool named = scene.of_chosen_finding(node);
    if (dots) {
      high = ImVec2(std::max(high.x - scale_, low.x + 1.5F), std::max(high.y, low.y + 1.5F));
      draw->AddRectFilled(low, high, color);
    } else {
      const float round = std::min(theme.px(kRounding), 0.3F * (high.y - low.y));
      draw->AddRectFilled(low, high, theme.colors.raised, round);
      draw->AddRectFilled(low, ImVec2(low.x + std::max(2.0F, 0.25F * scale_), high.y), color,
                          round);
      draw->AddRect(low, high, plot::faded(color, 0.9F), round);
    }
    const bool running = i < board.size() && board[i] == profiling::NodeState::Running;
    if (chosen || named || running) {
      const float out = theme.px(2);
      draw->AddRect(ImVec2(low.x - out, low.y - out), ImVec2(high.x + out, high.y + out),
                    running  ? theme.colors.good
                    : chosen ? theme.colors.accent
                             : theme.colors.bad,
                    theme.px(kRounding), 0, theme.px(2));
    }
    if (high.y - low.y < kTextAbove * theme.scale) continue;
    const ImFont* font = theme.fonts.label;
    const float inset = std::max(2.0F, 0.25F * scale_) + theme.px(kGapSmall);
    plot::draw_text(
        draw, font, ImVec2(low.x + inset, 0.5F * (low.y + high.y) - 0.5F * font->FontSize),
        theme.colors.text,
        plot::fitted(font, node_title(graph, node), high.x - low.x - inset - theme.px(kGapSmall)));
  }
}

void TopologyView::draw_read_out(const PanelContext& context, const GraphScene& scene,
                                 int node) const {
  const profiling::SnapshotNode& one = scene.graph()->nodes[static_cast<std::size_t>(node)];
  std::vector<plot::ReadOutLine> lines = {
      {"type", std::string(name_of(one.type)), 0},
      {"stage", std::string(engine::stage_name(one.stage)), context.theme.stage(one.stage)},
      {"layer", std::to_string(one.layer), 0}};
  if (const std::string launch = launch_text(one); !launch.empty()) {
    lines.push_back({"launch", launch, 0});
  }
  if (const std::string work = work_text(one); !work.empty()) lines.push_back({"work", work, 0});
  if (const double us = scene.node_us(node); !std::isnan(us)) {
    lines.push_back({"median", plot::duration_text(1e3 * us), 0});
  }
  if (const auto suspicion = scene.suspicion(node)) {
    lines.push_back(
        {"finding", std::string(name_of(*suspicion)), confidence_color(context.theme, *suspicion)});
  }
  const std::vector<profiling::Touch> touches = touches_of(scene.facts()->memory, node);
  for (std::size_t i = 0; i < std::min(touches.size(), kLinesInReadOut); ++i) {
    lines.push_back(
        {profiling::place_text(touches[i]), target_text(scene.report()->snapshot, touches[i]), 0});
  }
  if (touches.size() > kLinesInReadOut) {
    lines.push_back({"more", fmt::format("{} addresses", touches.size() - kLinesInReadOut), 0});
  }
  plot::read_out(context, node_title(*scene.graph(), node), lines);
}

}  // namespace app
