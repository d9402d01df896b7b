// Attribution rules: the node decides stage and layer, the launch's correlation id the iteration.
#include "profiling/cupti/attribution.h"

#include <algorithm>
#include <utility>

namespace profiling {
namespace {

// iteration + 1 : 32 | expert + 1 : 16 | layer : 8 | stage : 8
constexpr int kLayerShift = 8;
constexpr int kExpertShift = 16;
constexpr int kIterationShift = 32;
// Instantiation clones once, updates may clone again; a longer chain would be a cycle.
constexpr int kLongestCloneChain = 8;

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

}  // namespace profiling
