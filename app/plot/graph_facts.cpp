#include "app/plot/graph_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "app/plot/ledger_owner.h"
#include "engine/program/operation_words.h"
#include "profiling/document/work_labels.h"
#include "profiling/hazards/model/names.h"
#include "profiling/hazards/snapshot/reachability.h"

namespace app {
namespace {

constexpr int kSweeps = 4;
// Width over height that wrapping aims for: the card of a window of 1280 pixels has as much, and
// in a wider picture the boxes would be too small for their names.
constexpr float kAspect = 1.25F;
constexpr int kFewestLayersToWrap = 6;

using Lists = std::vector<std::vector<int>>;

struct Flow {
  Lists after;   // of nodes, then of the end of each node's children
  Lists before;  // nodes only: pulls a node towards its place
};

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// What follows a child graph waits for all its children: a separate end node represents that.
Flow flow_of(const profiling::GraphSnapshot& graph) {
  const int n = static_cast<int>(graph.nodes.size());
  std::vector<bool> holds(at(n), false);
  const auto parent_of = [&](int node) {
    const int parent = graph.nodes[at(node)].parent;
    return parent >= 0 && parent < node ? parent : -1;
  };
  for (int i = 0; i < n; ++i) {
    if (parent_of(i) >= 0) holds[at(parent_of(i))] = true;
  }
  const auto end_of = [&](int node) { return holds[at(node)] ? n + node : node; };
  Flow flow{Lists(at(2 * n)), Lists(at(n))};
  for (int i = 0; i < n; ++i) {
    if (holds[at(i)]) flow.after[at(i)].push_back(n + i);
    if (const int parent = parent_of(i); parent >= 0) {
      flow.after[at(parent)].push_back(i);
      flow.after[at(end_of(i))].push_back(n + parent);
      flow.before[at(i)].push_back(parent);
    }
  }
  for (const profiling::SnapshotEdge& edge : graph.edges) {
    if (edge.from < 0 || edge.to >= n || edge.from >= edge.to) continue;
    flow.after[at(end_of(edge.from))].push_back(edge.to);
    flow.before[at(edge.to)].push_back(edge.from);
  }
  return flow;
}

/// Longest path from the beginning. An end is in the layer of the last of its children.
std::vector<int> layers_of(const Flow& flow, int n) {
  std::vector<int> waits(flow.after.size(), 0);
  std::vector<int> layer(flow.after.size(), 0);
  for (const std::vector<int>& list : flow.after) {
    for (const int next : list) ++waits[at(next)];
  }
  std::vector<int> ready;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i] == 0) ready.push_back(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    const int one = ready[i];
    for (const int next : flow.after[at(one)]) {
      layer[at(next)] = std::max(layer[at(next)], layer[at(one)] + (next < n ? 1 : 0));
      if (--waits[at(next)] == 0) ready.push_back(next);
    }
  }
  layer.resize(at(n));
  return layer;
}

/// Places the rows of one layer as close to the wanted positions as a distance of one allows.
void place_rows(std::vector<int>& order, const std::vector<float>& wanted,
                std::vector<float>& rows) {
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return wanted[at(a)] < wanted[at(b)]; });
  float below = -1e9F;
  float pushed = 0.0F;
  for (const int node : order) {
    rows[at(node)] = std::max(wanted[at(node)], below + 1.0F);
    below = rows[at(node)];
    pushed += rows[at(node)] - wanted[at(node)];
  }
  for (const int node : order) rows[at(node)] -= pushed / static_cast<float>(order.size());
}

float mean_row(const std::vector<int>& of, const std::vector<float>& rows, float otherwise) {
  if (of.empty()) return otherwise;
  float sum = 0.0F;
  for (const int node : of) sum += rows[at(node)];
  return sum / static_cast<float>(of.size());
}

std::vector<float> rows_of_nodes(const Flow& flow, Lists& by_layer, int n) {
  Lists after(at(n));
  for (int i = 0; i < n; ++i) {
    for (const int one : flow.before[at(i)]) after[at(one)].push_back(i);
  }
  std::vector<float> rows(at(n), 0.0F);
  std::vector<float> wanted(at(n), 0.0F);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const bool down = sweep % 2 == 0;
    for (std::size_t i = 0; i < by_layer.size(); ++i) {
      std::vector<int>& layer = by_layer[down ? i : by_layer.size() - 1 - i];
      for (const int node : layer) {
        wanted[at(node)] = mean_row((down ? flow.before : after)[at(node)], rows, rows[at(node)]);
      }
      place_rows(layer, wanted, rows);
    }
  }
  return rows;
}

struct Reach {
  float low = 0.0F;
  float high = 0.0F;
};

/// Over the rows of layers [first, last).
Reach reach_of(const Lists& by_layer, const std::vector<float>& rows, std::size_t first,
               std::size_t last) {
  Reach reach{1e9F, -1e9F};
  for (std::size_t i = first; i < std::min(last, by_layer.size()); ++i) {
    for (const int node : by_layer[i]) {
      reach.low = std::min(reach.low, rows[at(node)]);
      reach.high = std::max(reach.high, rows[at(node)]);
    }
  }
  return reach;
}

std::size_t layers_per_band(const Lists& by_layer, const std::vector<float>& rows) {
  const std::size_t layers = by_layer.size();
  if (layers < static_cast<std::size_t>(kFewestLayersToWrap)) return layers;
  // Uses the widest layer: over thousands of layers the rows of a stream drift.
  float widest = 0.0F;
  for (std::size_t i = 0; i < layers; ++i) {
    const Reach reach = reach_of(by_layer, rows, i, i + 1);
    widest = std::max(widest, reach.high - reach.low);
  }
  const float band = (widest + 2.0F) * GraphLayout::kRowStep;
  const float length = static_cast<float>(layers) * GraphLayout::kColumnStep;
  const float bands = std::max(1.0F, std::round(std::sqrt(length / (kAspect * band))));
  return static_cast<std::size_t>(std::ceil(static_cast<float>(layers) / bands));
}

using profiling::Touch;

/// Beyond this many touches only neighbours are compared.
constexpr std::size_t kAllPairs = 600;

bool clashes_as_a_whole(engine::AllocationRole role) {
  return role == engine::AllocationRole::Workspace || role == engine::AllocationRole::Counter;
}

bool overlap(const Touch& a, const Touch& b) {
  const std::uint64_t a_bytes = std::max<std::uint64_t>(a.bytes, 1);
  const std::uint64_t b_bytes = std::max<std::uint64_t>(b.bytes, 1);
  return a.word < b.word ? b.word - a.word < a_bytes : a.word - b.word < b_bytes;
}

bool may_clash(const Touch& a, const Touch& b, engine::AllocationRole role) {
  if (clashes_as_a_whole(role)) return true;
  return (a.writes() || b.writes()) && overlap(a, b);
}

MemoryCell* find_cell(MemoryRow& row, int node) {
  const auto found = std::ranges::lower_bound(row.cells, node, {}, &MemoryCell::node);
  return found == row.cells.end() || found->node != node ? nullptr : &*found;
}

/// Nodes that a finding names as accesses to one allocation in no order, by that allocation.
using MissingOrders = std::multimap<int, std::pair<int, int>>;

MissingOrders missing_orders(const profiling::Snapshot& snapshot, int graph,
                             std::span<const profiling::Finding> findings) {
  MissingOrders missing;
  std::optional<profiling::AllocationIndex> index;
  for (const profiling::Finding& finding : findings) {
    if (finding.missing_order.empty() || finding.confidence == profiling::Confidence::Disproved) {
      continue;
    }
    if (!index) index.emplace(snapshot, snapshot.graphs[at(graph)]);
    std::map<int, std::set<int>> nodes;
    for (const profiling::Access& access : finding.accesses) {
      if (access.node.graph != graph) continue;
      const int allocation = index->find(access.word);
      if (allocation >= 0) nodes[allocation].insert(access.node.node);
    }
    for (const auto& [allocation, all] : nodes) {
      for (auto first = all.begin(); first != all.end(); ++first) {
        for (auto second = std::next(first); second != all.end(); ++second) {
          missing.emplace(allocation, std::pair(*first, *second));
        }
      }
    }
  }
  return missing;
}

/// `missing`: pairs of nodes that a finding names.
MemoryRow row_of(int allocation, engine::AllocationRole role, const std::vector<Touch>& touches,
                 const MissingOrders& missing, const profiling::Reachability& order) {
  MemoryRow row{.allocation = allocation, .cells = {}, .red = false};
  std::vector<std::size_t> cell_of;
  for (const Touch& touch : touches) {
    if (row.cells.empty() || row.cells.back().node != touch.node) {
      row.cells.push_back({.node = touch.node});
    }
    row.cells.back().writes = row.cells.back().writes || touch.writes();
    cell_of.push_back(row.cells.size() - 1);
  }
  for (std::size_t i = 0; i < touches.size(); ++i) {
    const std::size_t end =
        touches.size() <= kAllPairs ? touches.size() : std::min(touches.size(), i + 2);
    for (std::size_t k = i + 1; k < end; ++k) {
      if (cell_of[i] == cell_of[k] || !may_clash(touches[i], touches[k], role)) continue;
      if (order.ordered(touches[i].node, touches[k].node)) continue;
      row.cells[cell_of[i]].unordered_with = touches[k].node;
      row.cells[cell_of[k]].unordered_with = touches[i].node;
      row.red = true;
    }
  }
  const auto [first, last] = missing.equal_range(allocation);
  for (auto one = first; one != last; ++one) {
    const auto& [a, b] = one->second;
    MemoryCell* const of_a = find_cell(row, a);
    MemoryCell* const of_b = find_cell(row, b);
    if (of_a == nullptr || of_b == nullptr || order.ordered(a, b)) continue;
    of_a->unordered_with = b;
    of_b->unordered_with = a;
    row.red = true;
  }
  return row;
}

}  // namespace

GraphLayout lay_out(const profiling::GraphSnapshot& graph) {
  GraphLayout layout;
  const int n = static_cast<int>(graph.nodes.size());
  if (n == 0) return layout;
  const Flow flow = flow_of(graph);
  const std::vector<int> layer = layers_of(flow, n);
  layout.layers = 1 + *std::max_element(layer.begin(), layer.end());
  Lists by_layer(at(layout.layers));
  for (int i = 0; i < n; ++i) by_layer[at(layer[at(i)])].push_back(i);
  const std::vector<float> rows = rows_of_nodes(flow, by_layer, n);

  layout.places.resize(at(n));
  const std::size_t each = layers_per_band(by_layer, rows);
  float top = 0.0F;
  for (std::size_t first = 0; first < by_layer.size(); first += each, ++layout.bands) {
    const Reach reach = reach_of(by_layer, rows, first, first + each);
    for (std::size_t i = first; i < std::min(first + each, by_layer.size()); ++i) {
      const float x =
          static_cast<float>(i - first) * GraphLayout::kColumnStep + 0.5F * GraphLayout::kBoxWidth;
      for (const int node : by_layer[i]) {
        const float y = top + (rows[at(node)] - reach.low) * GraphLayout::kRowStep + 0.5F;
        layout.places[at(node)] = {x, y, static_cast<int>(i), layout.bands};
        layout.width = std::max(layout.width, x + 0.5F * GraphLayout::kBoxWidth);
        layout.height = std::max(layout.height, y + 0.5F);
      }
    }
    top += (reach.high - reach.low + 2.0F) * GraphLayout::kRowStep;
  }
  return layout;
}

MemoryMap map_memory(const profiling::Snapshot& snapshot, int index,
                     std::span<const profiling::Finding> findings) {
  const profiling::GraphSnapshot& graph = snapshot.graphs[at(index)];
  MemoryMap map;
  map.touches = profiling::find_touches(snapshot, graph);
  std::map<int, std::vector<Touch>> by_allocation;
  for (const Touch& touch : map.touches) {
    if (touch.allocation >= 0) by_allocation[touch.allocation].push_back(touch);
  }
  const profiling::Reachability order(graph);
  const MissingOrders missing = missing_orders(snapshot, index, findings);
  for (std::size_t i = 0; i < snapshot.ledger.size(); ++i) {
    const auto touched = by_allocation.find(static_cast<int>(i));
    map.rows.push_back(row_of(
        static_cast<int>(i), snapshot.ledger[i].role,
        touched == by_allocation.end() ? std::vector<Touch>() : touched->second, missing, order));
    if (map.rows.back().red) ++map.clashes;
  }
  const std::vector<profiling::MemoryChanges> changes =
      profiling::memory_changes(snapshot, graph, profiling::reached_memory(map.touches));
  for (std::size_t i = 0; i < changes.size(); ++i) map.rows[i].changes = changes[i];
  const auto rank = [&snapshot](const MemoryRow& row) {
    const engine::Allocation& allocation =
        snapshot.ledger[static_cast<std::size_t>(row.allocation)];
    return std::tuple(row.cells.empty(), static_cast<int>(allocation.role),
                      row.cells.empty() ? 0 : row.cells.front().node);
  };
  std::stable_sort(map.rows.begin(), map.rows.end(),
                   [&](const MemoryRow& a, const MemoryRow& b) { return rank(a) < rank(b); });
  return map;
}

std::vector<std::string> operands_of(const profiling::Snapshot& snapshot,
                                     const profiling::GraphSnapshot& graph, const MemoryMap& map) {
  using engine::AllocationRole;
  using engine::Stage;
  std::vector<std::string> operands(graph.nodes.size());
  std::vector<std::set<std::string>> names(graph.nodes.size());
  for (const Touch& touch : map.touches) {
    if (touch.allocation < 0) continue;
    const Stage stage = graph.nodes[at(touch.node)].stage;
    if (stage != Stage::Amax && stage != Stage::Quantize && stage != Stage::Dequantize) continue;
    const engine::Allocation& memory = snapshot.ledger[at(touch.allocation)];
    if (memory.role != AllocationRole::Quantized && memory.role != AllocationRole::Tickets)
      continue;
    const std::optional<LedgerOwner> owner = ledger_owner(memory.owner);
    if (owner) names[at(touch.node)].emplace(owner->operand);
  }
  for (std::size_t node = 0; node < names.size(); ++node) {
    for (const std::string& name : names[node]) {
      operands[node] += (operands[node].empty() ? "" : " and ") + name;
    }
  }
  return operands;
}

std::vector<std::string> node_labels(engine::StepKind step, const profiling::GraphSnapshot& graph,
                                     const std::vector<std::string>& operands) {
  std::vector<profiling::NamedWork> work;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const profiling::SnapshotNode& node = graph.nodes[i];
    work.push_back(
        {.operation = node_operation(step, node, operands[i]),
         .kernel = node.name.empty() ? std::string(profiling::name_of(node.type)) : node.name});
  }
  return profiling::labels_of(work);
}

std::string node_operation(engine::StepKind step, const profiling::SnapshotNode& node,
                           const std::string& operand) {
  std::string operation = engine::operation_name(step, node.stage, node.writes);
  if (!operation.empty() || operand.empty()) return operation;
  return fmt::format("{} {}", engine::stage_name(node.stage), operand);
}

}  // namespace app
