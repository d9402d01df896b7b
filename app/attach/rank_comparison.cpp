#include "app/attach/rank_comparison.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "engine/model/counted.h"
#include "engine/model/text.h"

namespace app {
namespace {

constexpr std::size_t kMostSentences = 8;
constexpr std::size_t kShownName = 60;

/// The ranks that have one value in common.
template <class Value>
struct Group {
  Value value;
  std::vector<int> ranks;
};

/// The largest first; of equal ones, that with the lowest rank.
template <class Value>
std::vector<Group<Value>> grouped(const std::vector<std::pair<int, Value>>& values) {
  std::vector<Group<Value>> groups;
  for (const auto& [rank, value] : values) {
    const auto found = std::ranges::find(groups, value, &Group<Value>::value);
    if (found != groups.end()) {
      found->ranks.push_back(rank);
    } else {
      groups.push_back({value, {rank}});
    }
  }
  std::ranges::stable_sort(groups, std::ranges::greater(),
                           [](const Group<Value>& group) { return group.ranks.size(); });
  return groups;
}

/// "7 times by ranks 0-2, 6 times by rank 3".
template <class Value, class Words>
std::string listed(const std::vector<Group<Value>>& groups, const Words& words) {
  std::string text;
  for (const Group<Value>& group : groups) {
    if (!text.empty()) text += ", ";
    text += words(group.value, rank_words(group.ranks));
  }
  return text;
}

using Nodes = std::vector<std::string>;  // the name of each

Nodes nodes_of(const profiling::GraphSnapshot& graph) {
  Nodes names;
  for (const profiling::SnapshotNode& node : graph.nodes) names.push_back(node.name);
  return names;
}

std::string node_at(const Nodes& nodes, std::size_t at) {
  return at < nodes.size() ? '"' + engine::shown_text(nodes[at], kShownName) + '"' : "no node";
}

std::string node_difference(const std::string& graph, const std::vector<Group<Nodes>>& groups) {
  const Nodes& usual = groups[0].value;
  const Nodes& other = groups[1].value;
  const auto differ = std::ranges::mismatch(usual, other);
  const auto at = static_cast<std::size_t>(differ.in1 - usual.begin());
  return fmt::format("{}: {}. Node {} is {} in {}, and {} in {}", graph,
                     listed(groups,
                            [](const Nodes& nodes, const std::string& ranks) {
                              return fmt::format("{} in {}", engine::counted(nodes.size(), "node"),
                                                 ranks);
                            }),
                     at, node_at(usual, at), rank_words(groups[0].ranks), node_at(other, at),
                     rank_words(groups[1].ranks));
}

/// The graph of one name in each rank that has it.
using OfRanks = std::vector<std::pair<int, const profiling::GraphSnapshot*>>;

/// It was lost on the way, too, where frames of the record are missing.
std::string missing_graph(const std::string& name, const OfRanks& of_ranks,
                          const std::vector<RankGraphs>& ranks) {
  std::vector<int> without;
  for (const RankGraphs& one : ranks) {
    if (std::ranges::none_of(of_ranks, [&](const auto& has) { return has.first == one.rank; }))
      without.push_back(one.rank);
  }
  return fmt::format("{} is not in the record of {}", name, rank_words(without));
}

void compare_graph(const std::string& name, const OfRanks& of_ranks,
                   std::vector<std::string>& sentences) {
  std::vector<std::pair<int, Nodes>> nodes;
  std::vector<std::pair<int, std::int64_t>> launches;
  for (const auto& [rank, graph] : of_ranks) {
    nodes.emplace_back(rank, nodes_of(*graph));
    launches.emplace_back(rank, graph->launches);
  }
  if (const auto groups = grouped(nodes); groups.size() > 1)
    sentences.push_back(node_difference(name, groups));
  if (const auto groups = grouped(launches); groups.size() > 1) {
    sentences.push_back(
        fmt::format("{} was launched {}", name,
                    listed(groups, [](std::int64_t count, const std::string& ranks) {
                      return fmt::format("{} by {}", engine::counted(count, "time"), ranks);
                    })));
  }
}

}  // namespace

std::string rank_words(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  std::vector<std::string> parts;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    // A range needs at least three ranks.
    if (last == first + 1) last = first;
    parts.push_back(last == first ? std::to_string(ranks[first])
                                  : fmt::format("{}-{}", ranks[first], ranks[last]));
    first = last + 1;
  }
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

std::vector<std::string> compare_ranks(const std::vector<RankGraphs>& ranks) {
  if (ranks.size() < 2) return {};
  std::vector<std::string> sentences;
  std::vector<std::pair<int, std::uint64_t>> counts;
  // By the length of the name first: "graph 9" comes before "graph 10".
  std::map<std::pair<std::size_t, std::string>, OfRanks> graphs;
  for (const RankGraphs& one : ranks) {
    counts.emplace_back(one.rank, one.instantiated);
    for (const profiling::GraphSnapshot& graph : one.graphs)
      graphs[{graph.name.size(), graph.name}].emplace_back(one.rank, &graph);
  }
  if (const auto groups = grouped(counts); groups.size() > 1) {
    sentences.push_back(listed(groups, [](std::uint64_t count, const std::string& who) {
      return fmt::format("{} instantiated {}", who, engine::counted(count, "graph"));
    }));
  }
  if (graphs.empty()) return {};
  for (const auto& [name, of_ranks] : graphs) {
    if (of_ranks.size() < ranks.size())
      sentences.push_back(missing_graph(name.second, of_ranks, ranks));
    compare_graph(name.second, of_ranks, sentences);
  }
  if (sentences.empty()) {
    return {fmt::format("{} captured the same graphs, and launched each equally often",
                        engine::counted(ranks.size(), "rank"))};
  }
  if (sentences.size() > kMostSentences) {
    const std::size_t more = sentences.size() - kMostSentences;
    sentences.resize(kMostSentences);
    sentences.push_back(
        fmt::format("{} between the ranks", engine::counted(more, "more difference")));
  }
  return sentences;
}

}  // namespace app
