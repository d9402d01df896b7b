// Painting is limited to the visible canvas; boxes lower than a few pixels become dots, so that ten
// thousand nodes stay smooth on a software renderer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "app/gui/controls/widgets.h"
#include "app/gui/graph/graph_words.h"
#include "app/gui/graph/topology_view.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/text.h"
#include "profiling/hazards/model/names.h"

namespace app {
namespace {

constexpr float kDotsBelow = 3.0F;   // box height in pixels
constexpr float kTextAbove = 11.0F;  // relative to the label font's 11 pixels
constexpr float kTextShare = 0.42F;  // of a box's height; smaller boxes keep legible letters
constexpr float kArrowsAbove = 8.0F;

bool outside(ImVec2 low, ImVec2 high, ImVec2 min, ImVec2 max) {
  return high.x < min.x || low.x > max.x || high.y < min.y || low.y > max.y;
}

/// The font whose own size is nearest above the wanted one: enlarged letters look blurred.
const ImFont* font_for(const ThemeFonts& fonts, float size) {
  for (const ImFont* font : {fonts.label, fonts.body}) {
    if (font->FontSize >= 0.95F * size) return font;
  }
  return fonts.headline;
}

}  // namespace

void TopologyView::follow(const GraphScene& scene) {
  if (known_for_ == scene.generation()) return;
  known_for_ = scene.generation();
  std::set<engine::Stage> stages;
  for (const profiling::SnapshotNode& node : scene.graph()->nodes) stages.insert(node.stage);
  stages_.assign(stages.begin(), stages.end());
  std::set<profiling::EdgeKind> kinds;
  for (const profiling::SnapshotEdge& edge : scene.graph()->edges) kinds.insert(edge.kind);
  edge_kinds_.assign(kinds.begin(), kinds.end());
}

std::vector<KeyEntry> TopologyView::key_of(const PanelContext& context, const GraphScene& scene,
                                           bool replaying) const {
  using Mark = KeyEntry::Mark;
  const Palette& colors = context.theme.colors;
  std::vector<KeyEntry> key;
  switch (static_cast<NodeColors>(colors_)) {
    case NodeColors::Stage:
      for (const engine::Stage stage : stages_) {
        key.push_back({std::string(engine::stage_name(stage)), context.theme.stage(stage)});
      }
      break;
    case NodeColors::Finding:
      key = {{"likely or proved", confidence_color(context.theme, profiling::Confidence::Likely)},
             {"possible", confidence_color(context.theme, profiling::Confidence::Possible)},
             {"disproved", confidence_color(context.theme, profiling::Confidence::Disproved)},
             {"in no finding", colors.line}};
      break;
    case NodeColors::Time:
      if (scene.longest_us() > 0.0) {
        key.push_back(
            {"median, 0 to " + plot::duration_text(1e3 * scene.longest_us()), 0, Mark::Scale});
      }
      key.push_back({"no time known", colors.line});
      break;
  }
  for (const profiling::EdgeKind kind : edge_kinds_) {
    const bool full = kind == profiling::EdgeKind::Full;
    key.push_back({full ? std::string("waits for")
                        : fmt::format("{}: orders no memory", profiling::name_of(kind)),
                   full ? colors.dim_text : colors.warn,
                   full                                        ? Mark::Arrow
                   : kind == profiling::EdgeKind::Programmatic ? Mark::Dashed
                                                               : Mark::Dotted});
  }
  const profiling::Finding* chosen = scene.chosen_finding();
  if (chosen != nullptr && !chosen->nodes.empty()) {
    key.push_back({"named by " + chosen->rule, colors.bad, Mark::Named});
  }
  if (scene.node() >= 0) key.push_back({"chosen", colors.accent, Mark::Outlined});
  if (replaying) key.push_back({"running now", colors.good, Mark::Outlined});
  return key;
}

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
    // To a lower band from above: from the side it would arrive behind the box.
    const bool down = a.band < b.band;
    const ImVec2 from =
        down ? canvas.to_pixel(a.x, a.y + 0.5F, *this) : canvas.to_pixel(a.x + half, a.y, *this);
    const ImVec2 to =
        down ? canvas.to_pixel(b.x, b.y - 0.5F, *this) : canvas.to_pixel(b.x - half, b.y, *this);
    const ImVec2 low(std::min(from.x, to.x), std::min(from.y, to.y));
    const ImVec2 high(std::max(from.x, to.x), std::max(from.y, to.y));
    if (outside(low, high, canvas.min, canvas.max)) continue;
    const bool chosen = scene.node() == edge.from || scene.node() == edge.to;
    if (dots && !chosen && high.x - low.x + high.y - low.y < 2.0F) continue;
    const ImU32 color =
        chosen ? theme.colors.accent : plot::faded(theme.colors.dim_text, dots ? 0.25F : 0.7F);
    const float width = chosen ? theme.px(2) : 1.0F;
    const bool straight =
        edge.kind != profiling::EdgeKind::Full || a.band != b.band || dots || to.x <= from.x;
    const float length = std::max(std::hypot(to.x - from.x, to.y - from.y), 1e-3F);
    // A curve arrives from the left.
    const ImVec2 along =
        straight ? ImVec2((to.x - from.x) / length, (to.y - from.y) / length) : ImVec2(1.0F, 0.0F);
    const float head =
        scale_ < kArrowsAbove ? 0.0F : std::clamp(0.3F * scale_, theme.px(5), theme.px(12));
    const ImVec2 end(to.x - along.x * head, to.y - along.y * head);
    ImU32 line = color;
    if (edge.kind != profiling::EdgeKind::Full) {
      line = chosen ? color : theme.colors.warn;
      draw_dashed(draw, from, end, line,
                  edge.kind == profiling::EdgeKind::Programmatic ? 6.0F : 2.5F,
                  std::max(width, 1.5F));
    } else if (straight) {
      // Between bands: a hint of a line, as in text that goes on below.
      draw->AddLine(from, end, chosen || a.band == b.band ? line : plot::faded(line, 0.6F), width);
    } else {
      const float bend = 0.4F * (end.x - from.x);
      draw->AddBezierCubic(from, ImVec2(from.x + bend, from.y), ImVec2(end.x - bend, end.y), end,
                           line, width, 10);
    }
    if (head > 0.0F) draw_arrowhead(draw, to, along, head, line);
  }
  draw->Flags = flags;
}

void TopologyView::draw_nodes(const PanelContext& context, const GraphScene& scene,
                              const Canvas& canvas,
                              const std::vector<profiling::NodeState>& board) {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const std::vector<GraphLayout::Place>& places = scene.facts()->layout.places;
  const float half = 0.5F * GraphLayout::kBoxWidth;
  const bool dots = scale_ < kDotsBelow;
  drawn_ = 0;
  named_ = 0;
  text_size_ = std::max(kTextShare * scale_, theme.fonts.label->FontSize);
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
    const auto outline = [&](float out, ImU32 outline_color) {
      draw->AddRect(ImVec2(low.x - out, low.y - out), ImVec2(high.x + out, high.y + out),
                    outline_color, theme.px(kRounding), 0, theme.px(2));
    };
    if (named) outline(theme.px(2), theme.colors.bad);
    if (chosen || running) {
      outline(theme.px(named ? 5 : 2), running ? theme.colors.good : theme.colors.accent);
    }
    if (named) ++named_;
    float right = high.x - theme.px(kGapSmall);
    if (named) {
      // Also where boxes are dots: a sign says more than one of a thousand red outlines.
      const float side = std::clamp(0.6F * (high.y - low.y), theme.px(9), theme.px(28));
      const bool inside = high.y - low.y >= theme.px(kTextAbove);
      right -= inside ? side : 0.0F;
      draw_warning(draw, theme,
                   inside ? ImVec2(right, 0.5F * (low.y + high.y - side))
                          : ImVec2(0.5F * (low.x + high.x - side), low.y - side - theme.px(3)),
                   side);
    }
    if (high.y - low.y < kTextAbove * theme.scale) continue;
    const ImFont* font = font_for(theme.fonts, text_size_);
    const float inset = std::max(2.0F, 0.25F * scale_) + theme.px(kGapSmall);
    const float wide = (right - low.x - inset) * font->FontSize / text_size_;
    const std::string shown =
        fitted_label(font, fmt::format("{}  {}", i, scene.facts()->labels[i]), wide);
    draw_scaled(draw, font, text_size_,
                ImVec2(std::round(low.x + inset), std::round(0.5F * (low.y + high.y - text_size_))),
                theme.colors.text, shown);
    controls::record(context, fmt::format("topology.node.{}", i).c_str(), shown.c_str(), "text",
                     scene.facts()->labels[i], low, high);
  }
}

}  // namespace app
