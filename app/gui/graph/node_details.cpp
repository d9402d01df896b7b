#include "app/gui/graph/node_details.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/cards/card.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/graph/graph_words.h"
#include "app/gui/plot/format.h"
#include "app/gui/theme/text.h"
#include "app/plot/pointer_arrays.h"
#include "engine/model/projections.h"
#include "engine/program/operation_words.h"
#include "profiling/hazards/model/names.h"

namespace app {
namespace {

std::string list_of(const profiling::GraphSnapshot& graph, int node, bool before) {
  std::string text;
  int count = 0;
  for (const profiling::SnapshotEdge& edge : graph.edges) {
    if ((before ? edge.to : edge.from) != node) continue;
    if (++count > 12) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(before ? edge.from : edge.to);
    if (edge.kind != profiling::EdgeKind::Full)
      text += fmt::format(" ({})", profiling::name_of(edge.kind));
  }
  if (count > 12) text += fmt::format(" and {} more", count - 12);
  return text.empty() ? "none" : text;
}

/// "8 of 9", of the memory's compared replays.
std::string changed_by_replays(const MemoryMap& map, int allocation) {
  const auto row = std::ranges::find(map.rows, allocation, &MemoryRow::allocation);
  return row == map.rows.end() ? "" : by_replays_text(row->changes);
}

/// The addresses that the chosen node holds.
profiling::Table addresses_table(const GraphScene& scene) {
  const profiling::Snapshot& snapshot = scene.report()->snapshot;
  std::vector<profiling::Row> rows;
  for (const profiling::Touch& touch : touches_of(scene.facts()->memory, scene.node())) {
    profiling::Cell role;
    if (touch.allocation >= 0) {
      role = profiling::name_of(snapshot.ledger[static_cast<std::size_t>(touch.allocation)].role);
    }
    const std::string target = target_text(snapshot, touch);
    const bool named = scene.names_access(touch.allocation, scene.node());
    rows.push_back({.cells = profiling::cells_of(
                        place_words(profiling::place_text(touch)), target, std::move(role),
                        touch.word, changed_by_replays(scene.facts()->memory, touch.allocation)),
                    .tone = named ? profiling::Tone::Bad : profiling::Tone::Plain,
                    .full_name = fmt::format("{} ({:#x}){}", target, touch.word,
                                             named ? ", named by the finding" : "")});
  }
  return profiling::table_of(
      "node_addresses",
      {{.key = "place", .tooltip = "Where in the node's parameters the address is"},
       {.key = "memory", .tooltip = "Allocation that contains it and the offset, from the ledger"},
       {.key = "role", .tooltip = "What the allocation is for"},
       {.key = "address",
        .measure = profiling::Measure::Address,
        .use = profiling::ColumnUse::Files},
       {.key = "changed_by_replays",
        .title = "changed by replays",
        .tooltip = "In how many of the compared replays the memory changed",
        .use = scene.graph()->compared.empty() ? profiling::ColumnUse::Files
                                               : profiling::ColumnUse::Everywhere}},
      std::move(rows));
}

/// Operands of the chosen node; empty = none, or not known.
std::string operand_of(const GraphScene& scene) {
  const auto index = static_cast<std::size_t>(scene.node());
  return scene.facts() == nullptr ? "" : scene.facts()->operands[index];
}

void line(const PanelContext& context, const char* label, const std::string& value) {
  if (value.empty()) return;
  {
    const TextColorScope color(context.theme.colors.dim_text);
    show_text(label);
  }
  ImGui::SameLine(context.theme.px(92));
  show_wrapped(value);
}

}  // namespace

void show_node(const PanelContext& context, GraphScene& scene, profiling::NodeRef node) {
  scene.show_graph(node.graph);
  scene.choose_node(node.node);
  context.commands.push_back(ShowPage{Page::Graphs, "topology"});
}

void NodeDetails::follow(const PanelContext& context, const GraphScene& scene) {
  const bool complete = scene.facts() != nullptr;
  if (shown_ == scene.generation() && node_ == scene.node() && finding_ == scene.finding() &&
      theme_ == context.theme.kind && complete_ == complete) {
    return;
  }
  shown_ = scene.generation();
  node_ = scene.node();
  finding_ = scene.finding();
  theme_ = context.theme.kind;
  complete_ = complete;
  ++generation_;
  addresses_ = {};
  table_.selected = -1;
  if (complete && node_ >= 0) addresses_ = plot::drawn(addresses_table(scene), context.theme);
}

CardSpec NodeDetails::card(const PanelContext& context, GraphScene& scene) {
  follow(context, scene);
  const profiling::GraphSnapshot* graph = scene.graph();
  const bool chosen = graph != nullptr && scene.node() >= 0;
  return {.id = "node.card",
          .title = chosen ? node_title(scene.step(), *graph, scene.node(), scene.facts()) : "Node",
          .question = "What does the chosen node do, and which memory does it hold?",
          .measured =
              "Argument bytes of the captured node, matched word by word with the "
              "allocations that the worker's ledger knew when it captured. A tensor map counts "
              "as the address it was encoded for, if the encoding was seen.",
          .table = {.id = "##node.touches", .drawn = &addresses_},
          .empty = [chosen]() -> EmptyState {
            if (chosen) return {};
            return {"No node chosen", "Click a box of the topology or a cell of the map."};
          },
          .draw = [this, &context, &scene](const Area&) { draw_node(context, scene); },
          .read_out = {.id = "graphs.node",
                       .label = "chosen node",
                       .value =
                           [this, &scene, chosen] {
                             if (!chosen) return std::string("none");
                             return fmt::format("node={};addresses={};operand={}", scene.node(),
                                                addresses_.rows.size(), operand_of(scene));
                           },
                       .kind = "text"}};
}

void NodeDetails::draw_node(const PanelContext& context, const GraphScene& scene) {
  const profiling::GraphSnapshot& graph = *scene.graph();
  const std::string operand = operand_of(scene);
  const profiling::SnapshotNode& node = graph.nodes[static_cast<std::size_t>(scene.node())];
  const bool guessed = !engine::is_known(node.writes) && !operand.empty();
  const std::string operation =
      guessed ? fmt::format("{} {}, {}", engine::stage_name(node.stage), operand,
                            engine::layer_words(scene.step(), node.layer))
              : engine::operation_title(scene.step(), node.stage, node.writes, node.layer);
  line(context, "kind", fmt::format("{}, {}", profiling::name_of(node.type), operation));
  line(context, "launch", launch_text(node));
  line(context, "work", work_text(node));
  if (const double us = scene.node_us(scene.node()); !std::isnan(us)) {
    line(context, "median", plot::duration_text(1e3 * us));
  }
  line(context, "waits for", list_of(graph, scene.node(), true));
  line(context, "followed by", list_of(graph, scene.node(), false));
  if (const auto* kernel = std::get_if<profiling::KernelNode>(&node.parameters)) {
    line(
        context, "arguments",
        kernel->parameters.empty()
            ? std::string("not known")
            : fmt::format("{} bytes in {} parameter{}", plot::count_text(kernel->parameters.size()),
                          kernel->slots.size(), kernel->slots.size() == 1 ? "" : "s"));
  }
  if (scene.facts() != nullptr) {
    line(context, "operands", operands_words(scene.facts()->arrays, scene.node()));
  }
  if (addresses_.rows.empty()) return line(context, "memory", "no address of known memory");
  plot::draw_table(context, "##node.touches", addresses_.columns, addresses_.rows, generation_,
                   ImGui::GetContentRegionAvail(), table_);
}

}  // namespace app
