// Frame, input and read-out; topology_painting.cpp paints.
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
#include "engine/model/counted.h"
#include "engine/model/projections.h"
#include "engine/program/operation_words.h"
#include "profiling/document/doctor_tables.h"
#include "profiling/hazards/model/names.h"

namespace app {
namespace {

// In grid pixels a row, before the text scale.
constexpr float kFittedScale = 26.0F;
constexpr float kLargestScale = 60.0F;
constexpr float kWheelStep = 1.2F;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// By its numbers, by what the picture calls it, or by the kernel's whole name. A number that is a
/// node's means that node: names are full of digits.
bool matches(engine::StepKind step, const profiling::GraphSnapshot& graph, int node,
             const std::string& wanted) {
  const profiling::SnapshotNode& one = graph.nodes[static_cast<std::size_t>(node)];
  const auto found_in = [&wanted](const std::string& text) {
    return lower(text).find(wanted) != std::string::npos;
  };
  if (std::to_string(node) == wanted || std::to_string(one.id) == wanted) return true;
  const bool number = wanted.find_first_not_of("0123456789") == std::string::npos;
  const auto is_wanted = [&wanted](const profiling::SnapshotNode& other) {
    return std::to_string(other.id) == wanted;
  };
  if (number && (wanted.size() < 9 && std::stoul(wanted) < graph.nodes.size())) return false;
  if (number && std::ranges::any_of(graph.nodes, is_wanted)) return false;
  return found_in(one.name) ||
         found_in(plot::work_name(engine::operation_name(step, one.stage, one.writes), one.name));
}

constexpr std::size_t kLinesInReadOut = 8;

}  // namespace

void TopologyView::fit(const Theme& theme, const GraphScene& scene, const Canvas& canvas) {
  const GraphLayout& layout = scene.facts()->layout;
  const ImVec2 room(canvas.max.x - canvas.min.x, canvas.max.y - canvas.min.y);
  const float width = layout.width + 2.0F;
  const float height = layout.height + 2.0F;
  scale_ = std::min({room.x / width, room.y / height, theme.px(kFittedScale)});
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
    if (!matches(scene.step(), graph, node, wanted)) continue;
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
    const float largest = context.theme.px(kLargestScale);
    scale_ = std::clamp(scale_ * std::pow(kWheelStep, steps), std::min(smallest, largest), largest);
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
    fit(context.theme, scene, canvas);
  } else if (ImGui::IsMouseClicked(ImGuiMouseButton_Middle)) {
    if (under < 0) return fit(context.theme, scene, canvas);
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
                       {.tooltip = "Name or number of a node. Enter goes to the next.",
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

CardSpec TopologyView::card(const PanelContext& context, const Area& area, GraphScene& scene,
                            const std::vector<profiling::NodeState>& board) {
  const profiling::GraphSnapshot* graph = scene.graph();
  const bool ready = graph != nullptr && scene.facts() != nullptr;
  const float widgets = std::min(context.theme.px(400), area.size.x - context.theme.px(120));
  const std::string note =
      graph == nullptr ? ""
                       : fmt::format("{}, {}{}", engine::counted(graph->nodes.size(), "node"),
                                     engine::counted(graph->edges.size(), "edge"),
                                     graph->degraded ? ", from a file" : "");
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
                .empty = [ready, graph, note]() -> EmptyState {
                  if (ready) return {};
                  if (graph != nullptr) return {"Laying out", note};
                  return {"No graph", "The capture failed before there was a graph."};
                },
                .draw = [this, &context, &scene,
                         &board](const Area& room) { draw_graph(context, room, scene, board); }};
  if (graph != nullptr)
    spec.list = [&scene] {
      return profiling::snapshot_nodes_table(scene.report()->snapshot,
                                             static_cast<std::size_t>(scene.graph_index()));
    };
  if (ready) {
    spec.header = [this, &context, &scene, widgets] {
      draw_header(context, scene, widgets - context.theme.px(kGap));
    };
  }
  return spec;
}

void TopologyView::draw_graph(const PanelContext& context, const Area& whole, GraphScene& scene,
                              const std::vector<profiling::NodeState>& board) {
  follow(scene);
  const std::vector<KeyEntry> key = key_of(context, scene, !board.empty());
  const float taken = key_height(context.theme, whole.size.x, key) + context.theme.px(kGapSmall);
  const Area room{whole.at, ImVec2(whole.size.x, std::max(whole.size.y - taken, 1.0F))};
  draw_key(context, "topology.key", ImVec2(room.at.x, room.end().y + context.theme.px(kGapSmall)),
           whole.size.x, key);
  const Canvas canvas{room.at, room.end()};
  if (fitted_for_ != scene.graph_generation() || scale_ <= 0.0F) {
    fitted_for_ = scene.graph_generation();
    followed_node_ = -1;
    fit(context.theme, scene, canvas);
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
                               "bands={};named={};text={:.1f}",
                               graph.nodes.size(), graph.edges.size(), drawn_, scene.node(), scale_,
                               left_, scene.facts()->layout.bands, named_, text_size_),
                   canvas.min, canvas.max);
}

void TopologyView::draw_read_out(const PanelContext& context, const GraphScene& scene,
                                 int node) const {
  const profiling::SnapshotNode& one = scene.graph()->nodes[static_cast<std::size_t>(node)];
  std::vector<plot::ReadOutLine> lines = {
      {"type", std::string(name_of(one.type))},
      {"stage", std::string(engine::stage_name(one.stage)), context.theme.stage(one.stage)},
      {"layer", engine::layer_number(scene.step(), one.layer)}};
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
    lines.push_back({place_words(profiling::place_text(touches[i])),
                     target_text(scene.report()->snapshot, touches[i])});
  }
  if (touches.size() > kLinesInReadOut) {
    lines.push_back({"more", fmt::format("{} addresses", touches.size() - kLinesInReadOut)});
  }
  plot::read_out(context, node_title(scene.step(), *scene.graph(), node, scene.facts()), lines);
}

}  // namespace app
