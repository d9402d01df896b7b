#include "app/gui/graph/topology_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/graph/node_text.h"
#include "app/gui/plot/plot_text.h"

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

namespace {

/// Lists every node with the nodes it waits for; null without a graph.
std::function<std::string()> nodes_text(const profiling::GraphSnapshot* graph, char separator) {
  if (graph == nullptr) return {};
  return [graph, separator] {
    std::vector<std::string> waits(graph->nodes.size());
    for (const profiling::SnapshotEdge& edge : graph->edges) {
      std::string& of = waits[static_cast<std::size_t>(edge.to)];
      if (!of.empty()) of += ' ';
      of += std::to_string(edge.from);
    }
    std::string text = fmt::format("node{0}id{0}name{0}stage{0}layer{0}waits_for\n", separator);
    for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
      const profiling::SnapshotNode& node = graph->nodes[i];
      text += fmt::format("{1}{0}{2}{0}\"{3}\"{0}{4}{0}{5}{0}{6}\n", separator, i, node.id,
                          node.name, engine::stage_name(node.stage), node.layer, waits[i]);
    }
    return text;
  };
}

}  // namespace

void TopologyView::draw(const PanelContext& context, const Area& area, GraphScene& scene,
                        const std::vector<profiling::NodeState>& board) {
  ImGui::SetCursorScreenPos(area.at);
  const profiling::GraphSnapshot* graph = scene.graph();
  const float widgets = std::min(context.theme.px(400), area.size.x - context.theme.px(120));
  const std::string note =
      graph == nullptr ? ""
                       : fmt::format("{} nodes, {} edges{}", graph->nodes.size(),
                                     graph->edges.size(), graph->degraded ? ", from a file" : "");
  Card card(context,
            {.id = "topology.card",
             .title = "Topology",
             .question = "Which node waits for which? Layers from left to right, bands from top to "
                         "bottom; dashed edges do not order memory.",
             .note = note,
             .measured = "Nodes, edges and parameters as the driver reports them for the captured "
                         "graph, before it was instantiated.",
             .text = nodes_text(graph, '\t'),
             .csv = nodes_text(graph, ','),
             .header_widgets = widgets},
            area.size);
  const ImVec2 room = card.room();
  const Canvas canvas{ImGui::GetCursorScreenPos(), ImVec2(ImGui::GetCursorScreenPos().x + room.x,
                                                          ImGui::GetCursorScreenPos().y + room.y)};
  if (graph == nullptr || scene.facts() == nullptr) {
    draw_empty(context, room, graph == nullptr ? "No graph" : "Laying out",
               graph == nullptr ? "The capture failed before there was a graph." : note, "",
               nullptr);
    return;
  }
  card.begin_header_widgets();
  draw_header(context, scene, widgets - context.theme.px(kGap));
  card.end_header_widgets();
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
  controls::record(context, "graphs.topology", "nodes and edges", "plot",
                   fmt::format("nodes={};edges={};drawn={};selected={};scale={:.3f};left={:.2f};"
                               "bands={}",
                               graph->nodes.size(), graph->edges.size(), drawn_, scene.node(),
                               scale_, left_, scene.facts()->layout.bands),
                   canvas.min, canvas.max);
}

}  // namespace app
