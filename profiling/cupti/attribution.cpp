// Attribution rules: the node decides stage and layer, the launch's correlation id the iteration.
#include "profiling/cupti/attribution.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace profiling {
namespace {

// iteration + 1 : 32 | expert + 1 : 16 | layer : 8 | stage : 8
constexpr int kLayerShift = 8;
constexpr int kExpertShift = 16;
constexpr int kIterationShift = 32;
// Instantiation clones once, updates may clone again; a longer chain would be a cycle.
constexpr int kLongestCloneChain = 8;

void erase_all(std::string& text, std::string_view part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at)) {
    text.erase(at, part.size());
  }
}

/// Cuts the parameter list that ends the text, if one does.
void cut_parameters(std::string& text) {
  if (text.empty() || text.back() != ')') return;
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) {
      text.erase(i);
      return;
    }
  }
}

}  // namespace

std::uint64_t pack(const WorkPlace& place) {
  return (static_cast<std::uint64_t>(place.iteration + 1) << kIterationShift) |
         (static_cast<std::uint64_t>((place.tag.expert + 1) & 0xFFFF) << kExpertShift) |
         (static_cast<std::uint64_t>(place.tag.layer & 0xFF) << kLayerShift) |
         static_cast<std::uint64_t>(place.tag.stage);
}

WorkPlace unpack(std::uint64_t id) {
  return {.tag = {.stage = static_cast<engine::Stage>(id & 0xFF),
                  .layer = static_cast<int>(id >> kLayerShift & 0xFF),
                  .expert = static_cast<int>(id >> kExpertShift & 0xFFFF) - 1},
          .iteration = static_cast<int>(id >> kIterationShift) - 1};
}

std::uint64_t GraphKnowledge::captured(std::uint64_t node_id) const {
  std::uint64_t id = node_id;
  for (int step = 0; step < kLongestCloneChain && !tags.contains(id); ++step) {
    const auto origin = clone_of.find(id);
    if (origin == clone_of.end()) break;
    id = origin->second;
  }
  return id;
}

Activity attribute(RawActivity raw, const GraphKnowledge& graphs, std::uint64_t origin_ns) {
  Activity activity;
  activity.names = std::move(raw.names);
  activity.nodes = graphs.nodes;
  std::unordered_map<std::uint32_t, std::uint16_t> lanes;
  const auto relative = [&](std::uint64_t time) {
    return static_cast<std::int64_t>(time) - static_cast<std::int64_t>(origin_ns);
  };
  activity.records.reserve(raw.records.size());
  for (const RawRecord& record : raw.records) {
    WorkPlace place;
    if (const auto known = raw.places.find(record.correlation); known != raw.places.end()) {
      place = unpack(known->second);
    }
    const std::uint64_t node = record.node_id == 0 ? 0 : graphs.captured(record.node_id);
    if (const auto tag = graphs.tags.find(node); node != 0 && tag != graphs.tags.end()) {
      place.tag = tag->second;
    }
    const auto lane = lanes.emplace(record.stream, static_cast<std::uint16_t>(lanes.size())).first;
    activity.records.push_back({.start_ns = relative(record.start_ns),
                                .end_ns = relative(record.end_ns),
                                .node_id = node,
                                .name = record.name,
                                .iteration = place.iteration,
                                .expert = static_cast<std::int16_t>(place.tag.expert),
                                .layer = static_cast<std::uint8_t>(place.tag.layer),
                                .kind = record.kind,
                                .lane = lane->second,
                                .stage = place.tag.stage});
  }
  std::stable_sort(
      activity.records.begin(), activity.records.end(),
      [](const ActivityRecord& a, const ActivityRecord& b) { return a.start_ns < b.start_ns; });
  return activity;
}

std::vector<GraphNode> topological(std::vector<GraphNode> nodes) {
  std::unordered_map<std::uint64_t, std::size_t> position;
  for (std::size_t i = 0; i < nodes.size(); ++i) position.emplace(nodes[i].id, i);
  std::vector<std::size_t> waiting_for(nodes.size(), 0);
  std::vector<std::vector<std::size_t>> followers(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::uint64_t dependency : nodes[i].dependencies) {
      const auto found = position.find(dependency);
      if (found == position.end()) continue;
      followers[found->second].push_back(i);
      ++waiting_for[i];
    }
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (waiting_for[i] == 0) order.push_back(i);
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const std::size_t follower : followers[order[next]]) {
      if (--waiting_for[follower] == 0) order.push_back(follower);
    }
  }
  std::vector<GraphNode> sorted;
  sorted.reserve(order.size());
  for (const std::size_t index : order) sorted.push_back(std::move(nodes[index]));
  return sorted;
}

std::string readable_kernel_name(const char* symbol) {
  if (symbol == nullptr) return "unnamed kernel";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  std::string name = status == 0 && demangled ? demangled.get() : symbol;
  erase_all(name, "(anonymous namespace)::");
  cut_parameters(name);
  if (name.starts_with("void ")) name.erase(0, 5);
  return name;
}

}  // namespace profiling
