// Assembles the graphs of a dot file: children after the node that contains them, and every node
// after its dependencies.
#include "profiling/hazards/snapshot/dot_import.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/model/path_text.h"
#include "engine/model/text.h"

namespace profiling {

namespace {

constexpr std::size_t kMaxGraphs = 100'000;

/// A node's identifier and the rest of its line.
struct Quoted {
  std::string_view name;
  std::string_view rest;
};

std::optional<Quoted> quoted(std::string_view line) {
  if (!line.starts_with('"')) return std::nullopt;
  const std::size_t end = line.find('"', 1);
  if (end == std::string_view::npos || end == 1) return std::nullopt;
  return Quoted{.name = line.substr(1, end - 1), .rest = trimmed(line.substr(end + 1))};
}

/// If a new statement begins here, the previous one was never closed.
bool begins_statement(std::string_view line) {
  if (line.starts_with("subgraph ")) return true;
  const auto id = quoted(line);
  return id && (id->rest.starts_with('[') || id->rest.starts_with("->"));
}

/// The value of an attribute in a node statement, before its label.
std::string_view attribute(std::string_view head, std::string_view key) {
  const std::size_t at = head.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view value = head.substr(at + key.size());
  if (!value.starts_with("=\"")) return {};
  value.remove_prefix(2);
  return value.substr(0, value.find('"'));
}

class DotReader {
 public:
  explicit DotReader(std::string_view text) : text_(text) {}

  engine::Result<std::vector<DotGraph>> read() {
    std::string_view line;
    while (status_.ok() && next_line(line)) take_line(trimmed(line));
    if (status_.ok() && !begun_) fail(1, "is not a dot file: it does not begin with 'digraph'");
    if (status_.ok() && !node_ids_.empty() && depth_ > 0) {
      fail(line_, "the file is truncated: its graph is not closed");
    }
    if (status_.ok() && graphs_.empty()) fail(line_, "the file holds no graph");
    if (status_.ok()) connect();
    if (!status_.ok()) return status_.error();
    return std::move(graphs_);
  }

 private:
  struct PendingEdge {
    std::string_view from;
    std::string_view to;
    int line = 0;
  };
  struct Place {
    std::size_t graph = 0;
    std::size_t node = 0;
  };

  bool next_line(std::string_view& line) {
    if (at_ >= text_.size()) return false;
    const std::size_t end = text_.find('\n', at_);
    line = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
    ++line_;
    return true;
  }
  void fail(int line, std::string_view why) {
    if (!status_.ok()) return;
    status_ =
        engine::Error{engine::ErrorCode::InvalidArgument, fmt::format("line {}: {}", line, why)};
  }

  void take_line(std::string_view line) {
    if (line.empty() || line.starts_with("//")) return;
    if (!begun_) {
      begun_ = line.starts_with("digraph") || line.starts_with("strict digraph");
      if (!begun_) fail(line_, "is not a dot file: it does not begin with 'digraph'");
      depth_ = 1;
    } else if (line.starts_with("subgraph")) {
      ++depth_;
      begin_graph(line);
    } else if (line == "}" || line == "};") {
      --depth_;
    } else if (line.starts_with("label=\"")) {
      // The driver generates graph names: they contain no quotes.
      const std::string_view label = attribute(line, "label");
      if (!graphs_.empty()) graphs_.back().label = engine::shown_text(label.substr(0, 1000));
    } else if (const auto id = quoted(line)) {
      if (id->rest.starts_with("->")) return take_edge(*id);
      if (id->rest.starts_with('[') || id->rest.empty()) return take_node(*id);
      fail(line_, fmt::format("'{}' is followed by neither '[' nor '->'",
                              engine::shown_text(id->name.substr(0, 80))));
    }
    // Anything else is a drawing attribute.
  }

  void begin_graph(std::string_view line) {
    if (graphs_.size() >= kMaxGraphs)
      return fail(line_, fmt::format("more than {} graphs", kMaxGraphs));
    // "subgraph cluster_3 {": the label, if one follows, is "graph_3".
    const std::size_t number = line.find("cluster_");
    std::string_view digits = number == std::string_view::npos ? "" : line.substr(number + 8);
    digits = digits.substr(0, digits.find_first_not_of("0123456789"));
    graphs_.push_back({.label = fmt::format("graph_{}", digits.substr(0, 20)), .line = line_});
  }

  /// Ends with the first line that ends in a quote and "]".
  void take_node(const Quoted& id) {
    const int first_line = line_;
    const char* const begin = id.name.data();
    std::string_view line = id.rest;
    while (!(line.ends_with("\"];") || line.ends_with("\"]"))) {
      if (!next_line(line))
        return fail(first_line, "the file is truncated: this node is not closed");
      line = trimmed(line);
      if (begins_statement(line)) return fail(first_line, "this node is not closed");
    }
    // Both point into text_.
    const std::string_view statement(begin,
                                     static_cast<std::size_t>(line.data() + line.size() - begin));
    const std::size_t label = statement.find("label=\"");
    if (label == std::string_view::npos) return fail(first_line, "this node has no label");
    std::string_view content = statement.substr(label + 7);
    content = content.substr(0, content.rfind('"'));
    add_node(id.name, first_line,
             read_dot_label(attribute(statement.substr(0, label), "shape"), content));
  }

  void add_node(std::string_view name, int line, DotNode node) {
    if (graphs_.empty()) graphs_.push_back({.label = "graph", .line = line});
    if (node_ids_.size() >= kMaxDotNodes)
      return fail(line, fmt::format("more than {} nodes", kMaxDotNodes));
    DotGraph& graph = graphs_.back();
    const Place place{.graph = graphs_.size() - 1, .node = graph.nodes.size()};
    if (!node_ids_.emplace(name, place).second) {
      return fail(
          line, fmt::format("node '{}' is defined twice", engine::shown_text(name.substr(0, 80))));
    }
    graph.nodes.push_back(std::move(node));
  }

  void take_edge(const Quoted& from) {
    const auto to = quoted(trimmed(from.rest.substr(2)));
    if (!to) return fail(line_, "this edge leads to no node");
    if (pending_.size() >= kMaxDotEdges)
      return fail(line_, fmt::format("more than {} edges", kMaxDotEdges));
    pending_.push_back({.from = from.name, .to = to->name, .line = line_});
  }

  /// At the end, because an edge may come before its nodes.
  void connect() {
    for (const PendingEdge& edge : pending_) {
      const auto from = node_ids_.find(edge.from);
      const auto to = node_ids_.find(edge.to);
      if (from == node_ids_.end() || to == node_ids_.end()) {
        const std::string_view missing = from == node_ids_.end() ? edge.from : edge.to;
        return fail(edge.line,
                    fmt::format("this edge names node '{}', which the file does not have",
                                engine::shown_text(missing.substr(0, 80))));
      }
      if (from->second.graph != to->second.graph) {
        return fail(edge.line, "this edge leads from one graph into another");
      }
      graphs_[from->second.graph].edges.push_back(
          {.from = from->second.node, .to = to->second.node, .line = edge.line});
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 0;
  int depth_ = 0;
  bool begun_ = false;
  engine::Status status_;
  std::vector<DotGraph> graphs_;
  std::vector<PendingEdge> pending_;
  std::unordered_map<std::string_view, Place> node_ids_;  // keys point into text_
};

}  // namespace

engine::Result<std::vector<DotGraph>> read_dot_graphs(std::string_view text) {
  return DotReader(text).read();
}

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
      ENGINE_TRY(add(i, -1, 0, graph));
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
        ENGINE_TRY(add(at->second, place, nesting + 1, to));
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
    return engine::Error{error.code,
                         fmt::format("{}: {}", engine::shown_path(file_name), error.message)};
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
