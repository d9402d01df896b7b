// Painting is limited to the visible canvas; boxes lower than a few pixels become dots, so that ten
// thousand nodes stay smooth on a software renderer.
#include "app/gui/graph/topology_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/graph/graph_words.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_frame.h"
#include "app/gui/plot/plot_text.h"
#include "profiling/hazards/model/names.h"

namespace app {
namespace {

constexpr float kLargestScale = 60.0F;
constexpr float kWheelStep = 1.2F;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool matches(const profiling::GraphSnapshot& graph, int node, const std::string& wanted) {
  const profiling::SnapshotNode& one = graph.nodes[static_cast<std::size_t>(node)];
  return std::to_string(node) == wanted || std::to_string(one.id) == wanted ||
         lower(one.name).find(wanted) != std::string::npos;
}

constexpr float kDotsBelow = 3.0F;   // box height in pixels
constexpr float kTextAbove = 11.0F;  // relative to the label font's 11 pixels
constexpr std::size_t kLinesInReadOut = 8;

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

/// Every node with the nodes it waits for.
std::string node_list(const profiling::GraphSnapshot& graph) {
  std::vector<std::string> waits(graph.nodes.size());
  for (const profiling::SnapshotEdge& edge : graph.edges) {
    std::string& of = waits[static_cast<std::size_t>(edge.to)];
    if (!of.empty()) of += ' ';
    of += std::to_string(edge.from);
  }
  std::string text = plot::tabbed("node", "id", "name", "stage", "layer", "waits_for");
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const profiling::SnapshotNode& node = graph.nodes[i];
    text +=
        plot::tabbed(i, node.id, node.name, engine::stage_name(node.stage), node.layer, waits[i]);
  }
  return text;
}

}  // namespace

void TopologyView::fit(const GraphScene& scene, const Canvas& canvas) {
  const GraphLayout& layout = scene.facts()->layout;
  const ImVec2 room(canvas.max.x - canvas.min.x, canvas.max.y - canvas.min.y);
  const float width = layout.width + 2.0F;
  const float height = layout.height + 2.0F;
  scale_ = std::min({room.x / width, room.y / height, 26.0F});
  left_ = 0.5F * (layout.width - room.x / scale_);
  top_ = 0.5F * (layout.height - room.y / scale_);
}

void TopologyView::centre_on(const GraphScene& scene, const Canvas& canvas, int node) {
  const GraphLayout::Place& place = scene.facts()->layout.places[static_cast<std::size_t>(node)];
  left_ = place.x - 0.5F * (canvas.max.x - canvas.min.x) / scale_;
  top_ = place.y - 0.5F * (canvas.max.y - canvas.min.y) / scale_;
}

void TopologyView::find_next(GraphScene& scene) {
  const profiling::GraphSnapshot& graph = *scene.graph();
  const int n = static_cast<int>(graph.nodes.size());
  const std::string wanted = lower(search_);
  if (wanted.empty()) return;
  for (int step = 1; step <= n; ++step) {
    const int node = (std::max(scene.node(), -1) + step) % n;
    if (!matches(graph, node, wanted)) continue;
    scene.choose_node(node);
    return;
  }
}

int TopologyView::node_at(const GraphScene& scene, const Canvas& canvas, ImVec2 pixel) const {
  const float x = left_ + (pixel.x - canvas.min.x) / scale_;
  const float y = top_ + (pixel.y - canvas.min.y) / scale_;
  const std::vector<GraphLayout::Place>& places = scene.facts()->layout.places;
  // Dots of a pixel or two are hard to hit.
  const float slack = std::max(0.0F, 4.0F / scale_ - 0.5F);
  int nearest = -1;
  float distance = 1e9F;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const float dx = std::max(0.0F, std::abs(places[i].x - x) - 0.5F * GraphLayout::kBoxWidth);
    const float dy = std::max(0.0F, std::abs(places[i].y - y) - 0.5F);
    if (dx > slack || dy > slack || dx + dy >= distance) continue;
    nearest = static_cast<int>(i);
    distance = dx + dy;
  }
  return nearest;
}

void TopologyView::take_input(const PanelContext& context, GraphScene& scene,
                              const Canvas& canvas) {
  ImGui::SetCursorScreenPos(canvas.min);
  ImGui::InvisibleButton("##topology.canvas",
                         ImVec2(canvas.max.x - canvas.min.x, canvas.max.y - canvas.min.y),
                         ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight);
  const bool hovered = ImGui::IsItemHovered();
  const ImGuiIO& io = ImGui::GetIO();
  if (ImGui::IsItemActive()) {
    left_ -= io.MouseDelta.x / scale_;
    top_ -= io.MouseDelta.y / scale_;
  }
  if (!hovered) return;
  const float steps = io.MouseWheel + static_cast<float>(context.keys.zoom);
  if (steps != 0.0F) {
    const float x = left_ + (io.MousePos.x - canvas.min.x) / scale_;
    const float y = top_ + (io.MousePos.y - canvas.min.y) / scale_;
    const GraphLayout& layout = scene.facts()->layout;
    const float smallest = 0.5F * std::min((canvas.max.x - canvas.min.x) / (layout.width + 2.0F),
                                           (canvas.max.y - canvas.min.y) / (layout.height + 2.0F));
    scale_ = std::clamp(scale_ * std::pow(kWheelStep, steps), std::min(smallest, kLargestScale),
                        kLargestScale);
    left_ = x - (io.MousePos.x - canvas.min.x) / scale_;
    top_ = y - (io.MousePos.y - canvas.min.y) / scale_;
  }
  left_ += 0.1F * static_cast<float>(context.keys.pan) * (canvas.max.x - canvas.min.x) / scale_;
  const int under = node_at(scene, canvas, io.MousePos);
  if (ImGui::IsMouseReleased(ImGuiMouseButton_Left) &&
      io.MouseDragMaxDistanceSqr[0] < context.theme.px(4) * context.theme.px(4)) {
    scene.choose_node(under);
    followed_node_ = scene.node();
  }
  if (context.keys.fit_all || ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) ||
      (context.keys.fit_selection && scene.node() < 0)) {
    fit(scene, canvas);
  } else if (ImGui::IsMouseClicked(ImGuiMouseButton_Middle)) {
    if (under < 0) return fit(scene, canvas);
    scale_ = std::max(scale_, 16.0F * context.theme.scale);
    centre_on(scene, canvas, under);
  } else if (context.keys.fit_selection) {
    scale_ = std::max(scale_, 16.0F * context.theme.scale);
    centre_on(scene, canvas, scene.node());
  }
  if (context.keys.clear) scene.choose_node(-1);
  if (under >= 0 && !ImGui::IsItemActive()) draw_read_out(context, scene, under);
}

void TopologyView::draw_header(const PanelContext& context, GraphScene& scene, float width) {
  const Theme& theme = context.theme;
  controls::segmented(context, "topology.colors", colors_, {"stage", "finding", "time"},
                      {.tooltip = "What the colours of the boxes mean", .width = 0.42F * width});
  ImGui::SameLine(0, theme.px(kGap));
  controls::input_text(context, "topology.search", "##search", search_,
                       {.tooltip = "Name, number or id of a node. Enter goes to the next.",
                        .hint = "find a node",
                        .width = 0.58F * width - theme.px(66)});
  if (ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Enter))) {
    find_next(scene);
  }
  ImGui::SameLine(0, theme.px(kGapSmall));
  if (controls::button(context, "topology.next", "Next",
                       {.enabled = !search_.empty(), .reason = "Type what to look for"})) {
    find_next(scene);
  }
}

void TopologyView::draw(const PanelContext& context, const Area& area, GraphScene& scene,
                        const std::vector<profiling::NodeState>& board) {
  const profiling::GraphSnapshot* graph = scene.graph();
  const bool ready = graph != nullptr && scene.facts() != nullptr;
  const float widgets = std::min(context.theme.px(400), area.size.x - context.theme.px(120));
  const std::string note =
      graph == nullptr ? ""
                       : fmt::format("{} nodes, {} edges{}", graph->nodes.size(),
                                     graph->edges.size(), graph->degraded ? ", from a file" : "");
  CardSpec spec{.id = "topology.card",
                .title = "Topology",
                .question =
                    "Which node waits for which? Layers from left to right, bands from top to "
                    "bottom; dashed edges do not order memory.",
                .note = note,
                .measured =
                    "Nodes, edges and parameters as the driver reports them for the "
                    "captured graph, before it was instantiated.",
                .header_widgets = widgets,
                .empty = [&]() -> EmptyState {
                  if (ready) return {};
                  if (graph != nullptr) return {"Laying out", note};
                  return {"No graph", "The capture failed before there was a graph."};
                },
                .draw = [&](const Area& room) { draw_graph(context, room, scene, board); }};
  if (graph != nullptr) spec.list = [graph] { return node_list(*graph); };
  if (ready) {
    spec.header = [&] { draw_header(context, scene, widgets - context.theme.px(kGap)); };
  }
  draw_card(context, area, spec);
}

void TopologyView::draw_graph(const PanelContext& context, const Area& room, GraphScene& scene,
                              const std::vector<profiling::NodeState>& board) {
  const Canvas canvas{room.at, room.end()};
  if (fitted_for_ != scene.generation() || scale_ <= 0.0F) {
    fitted_for_ = scene.generation();
    followed_node_ = -1;
    fit(scene, canvas);
  }
  if (scene.node() >= 0 && scene.node() != followed_node_) centre_on(scene, canvas, scene.node());
  followed_node_ = scene.node();
  ImGui::PushClipRect(canvas.min, canvas.max, true);
  draw_edges(context, scene, canvas);
  draw_nodes(context, scene, canvas, board);
  ImGui::PopClipRect();
  take_input(context, scene, canvas);
  const profiling::GraphSnapshot& graph = *scene.graph();
  controls::record(context, "graphs.topology", "nodes and edges", "plot",
                   fmt::format("nodes={};edges={};drawn={};selected={};scale={:.3f};left={:.2f};"
                               "bands={}",
                               graph.nodes.size(), graph.edges.size(), drawn_, scene.node(), scale_,
                               left_, scene.facts()->layout.bands),
                   canvas.min, canvas.max);
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
      {"type", std::string(name_of(one.type))},
      {"stage", std::string(engine::stage_name(one.stage)), context.theme.stage(one.stage)},
      {"layer", std::to_string(one.layer)}};
  if (const std::string launch = launch_text(one); !launch.empty()) {
    lines.push_back({"launch", launch});
  }
  if (const std::string work = work_text(one); !work.empty()) lines.push_back({"work", work});
  if (const double us = scene.node_us(node); !std::isnan(us)) {
    lines.push_back({"median", plot::duration_text(1e3 * us)});
  }
  if (const auto suspicion = scene.suspicion(node)) {
    lines.push_back(
        {"finding", std::string(name_of(*suspicion)), confidence_color(context.theme, *suspicion)});
  }
  const std::vector<profiling::Touch> touches = touches_of(scene.facts()->memory, node);
  for (std::size_t i = 0; i < std::min(touches.size(), kLinesInReadOut); ++i) {
    lines.push_back(
        {profiling::place_text(touches[i]), target_text(scene.report()->snapshot, touches[i])});
  }
  if (touches.size() > kLinesInReadOut) {
    lines.push_back({"more", fmt::format("{} addresses", touches.size() - kLinesInReadOut)});
  }
  plot::read_out(context, node_title(*scene.graph(), node), lines);
}

}  // namespace app
