// Assembles the graphs of a dot file: children after the node that contains them, and every node
// after its dependencies.
#include "profiling/hazards/snapshot/dot_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/model/text.h"
#include "profiling/hazards/snapshot/dot_lines.h"

namespace profiling {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;
constexpr int kMaxNesting = 100;

engine::Error refuse(int line, std::string_view why) {
  return {engine::ErrorCode::InvalidArgument, fmt::format("line {}: {}", line, why)};
}

/// Indices of the nodes, each after its dependencies, otherwise as in the file.
engine::Result<std::vector<std::size_t>> order_of(const DotGraph& graph) {
  std::vector<std::size_t> waits_for(graph.nodes.size());
  std::vector<std::vector<std::size_t>> followers(graph.nodes.size());
  for (const DotEdge& edge : graph.edges) {
    ++waits_for[edge.to];
    followers[edge.from].push_back(edge.to);
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < waits_for.size(); ++i) {
    if (waits_for[i] == 0) ready.push(i);
  }
  std::vector<std::size_t> order;
  order.reserve(graph.nodes.size());
  while (!ready.empty()) {
    const std::size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const std::size_t follower : followers[node]) {
      if (--waits_for[follower] == 0) ready.push(follower);
    }
  }
  if (order.size() == graph.nodes.size()) return order;
  // Nodes on a cycle are left over; the first edge among them shows where.
  const auto left = [&](const DotEdge& edge) {
    return waits_for[edge.from] != 0 && waits_for[edge.to] != 0;
  };
  const auto edge = std::ranges::find_if(graph.edges, left);
  return refuse(edge == graph.edges.end() ? graph.line : edge->line,
                fmt::format("the nodes of {} form a dependency cycle", graph.label));
}

class Assembler {
 public:
  Assembler(std::vector<DotGraph> graphs, Snapshot& snapshot)
      : graphs_(std::move(graphs)), snapshot_(snapshot) {
    for (std::size_t i = 0; i < graphs_.size(); ++i) by_label_.emplace(graphs_[i].label, i);
  }

  engine::Status assemble() {
    std::vector<bool> held(graphs_.size(), false);
    for (std::size_t i = 0; i < graphs_.size(); ++i) {
      for (const DotNode& node : graphs_[i].nodes) {
        for (const std::string& child : node.children) {
          if (const auto at = by_label_.find(child); at != by_label_.end()) held[at->second] = true;
        }
      }
      auto order = order_of(graphs_[i]);
      if (!order.ok()) return order.error();
      orders_.push_back(std::move(order).value());
    }
    for (std::size_t i = 0; i < graphs_.size(); ++i) {
      if (held[i] || graphs_[i].nodes.empty()) continue;
      GraphSnapshot graph{.name = graphs_[i].label, .degraded = true};
      if (engine::Status status = add(i, -1, 0, graph); !status.ok()) return status;
      snapshot_.graphs.push_back(std::move(graph));
    }
    if (!snapshot_.graphs.empty()) return {};
    const bool any = std::ranges::any_of(held, [](bool is_held) { return is_held; });
    return refuse(1, any ? "its graphs contain each other in a cycle" : "the file holds no node");
  }

 private:
  engine::Status add(std::size_t index, int parent, int nesting, GraphSnapshot& to) {
    const DotGraph& from = graphs_[index];
    if (nesting > kMaxNesting) {
      return refuse(from.line, fmt::format("more than {} levels of nested graphs", kMaxNesting));
    }
    std::vector<int> places(from.nodes.size());
    for (const std::size_t node : orders_[index]) {
      if (++nodes_ > kMaxDotNodes) {
        return refuse(from.line, fmt::format("more than {} nodes, counting copies of child graphs",
                                             kMaxDotNodes));
      }
      const int place = static_cast<int>(to.nodes.size());
      places[node] = place;
      to.nodes.push_back(from.nodes[node].node);
      to.nodes.back().parent = parent;
      for (const std::string& child : from.nodes[node].children) {
        // The writer omits empty graphs.
        const auto at = by_label_.find(child);
        if (at == by_label_.end()) continue;
        engine::Status status = add(at->second, place, nesting + 1, to);
        if (!status.ok()) return status;
      }
    }
    edges_ += from.edges.size();
    if (edges_ > kMaxDotEdges)
      return refuse(from.line, fmt::format("more than {} edges", kMaxDotEdges));
    for (const DotEdge& edge : from.edges) {
      to.edges.push_back({.from = places[edge.from], .to = places[edge.to]});
    }
    return {};
  }

  std::vector<DotGraph> graphs_;
  Snapshot& snapshot_;
  std::unordered_map<std::string, std::size_t> by_label_;
  std::vector<std::vector<std::size_t>> orders_;
  std::size_t nodes_ = 0;
  std::size_t edges_ = 0;
};

}  // namespace

engine::Result<Snapshot> import_dot(std::string_view text, std::string_view file_name) {
  const auto named = [&](const engine::Error& error) {
    return engine::Error{error.code, fmt::format("{}: {}", file_name, error.message)};
  };
  if (text.size() > kMaxFileBytes) {
    return named({engine::ErrorCode::InvalidArgument,
                  fmt::format("has {} bytes; the limit is {}", text.size(), kMaxFileBytes)});
  }
  auto graphs = read_dot_graphs(text);
  if (!graphs.ok()) return named(graphs.error());
  Snapshot snapshot;
  snapshot.subject = engine::shown_text(file_name);
  engine::Status status = Assembler(std::move(graphs).value(), snapshot).assemble();
  if (!status.ok()) return named(status.error());
  return snapshot;
}

}  // namespace profiling
