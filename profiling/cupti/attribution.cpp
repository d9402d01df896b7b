// Attribution rules: the node decides stage and layer, the launch's correlation id the iteration.
#include "profiling/cupti/attribution.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/model/measurement.h"
#include "engine/model/run_request.h"
#include "engine/observe/stage_range.h"

namespace profiling {
namespace {

// iteration + 1 : 24 | expert + 1 : 16 | layer : 8 | writes : 8 | stage : 8
constexpr int kWritesShift = 8;
constexpr int kLayerShift = 16;
constexpr int kExpertShift = 24;
constexpr int kIterationShift = 40;
static_assert(engine::kMaxIterations < 1 << 24, "Iterations do not fit a correlation id");
static_assert(engine::kMaxExperts < 1 << 16, "Experts do not fit a correlation id");
static_assert(2 * engine::kMaxLayers <= 1 << 8, "Layers do not fit a correlation id");
// Instantiation clones once, updates may clone again; a longer chain would be a cycle.
constexpr int kLongestCloneChain = 8;
constexpr std::uint32_t kNoName = ~0U;
constexpr const char* kUnknownKernel = "a kernel that was not launched eagerly";
constexpr const char* kIterationRange = "iteration";

/// Interns event names in the table that also holds the records' names.
class NameTable {
 public:
  explicit NameTable(std::vector<std::string>& names) : names_(names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      index_.emplace(names[i], static_cast<std::uint32_t>(i));
    }
  }
  std::uint32_t of(const std::string& name) {
    const auto [found, fresh] = index_.emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (fresh) names_.push_back(name);
    return found->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, std::uint32_t> index_;
};

WorkPlace place_of_call(const RawActivity& raw, std::uint32_t correlation) {
  const auto known = raw.places.find(correlation);
  return known == raw.places.end() ? WorkPlace{} : unpack(known->second);
}

/// Which kernel a call launched, for the calls that loaded one first.
std::unordered_map<std::uint32_t, std::uint32_t> loaded_kernels(const RawActivity& raw) {
  std::unordered_map<std::uint32_t, std::uint32_t> kernels;
  for (const RawHostEvent& event : raw.events.host) {
    if (event.kind == HostEventKind::LazyLoading) kernels.emplace(event.correlation, kNoName);
  }
  if (kernels.empty()) return kernels;
  for (const RawRecord& record : raw.records) {
    // All nodes of a graph share the correlation id of its launch: none of them can be singled out.
    if (record.kind != ActivityKind::Kernel || record.node_id != 0) continue;
    const auto call = kernels.find(record.correlation);
    if (call != kernels.end()) call->second = record.name;
  }
  return kernels;
}

/// Ranges of a thread are nested, and an iteration's is the outermost.
void inherit_iterations(std::vector<HostEvent>& sorted) {
  std::unordered_map<std::uint16_t, const HostEvent*> around;
  for (HostEvent& event : sorted) {
    if (event.kind != HostEventKind::StageRange) continue;
    if (event.iteration >= 0) {
      around[event.lane] = &event;
      continue;
    }
    const auto outer = around.find(event.lane);
    if (outer != around.end() && event.end_ns <= outer->second->end_ns) {
      event.iteration = outer->second->iteration;
    }
  }
}

HostEvent host_event(const RawActivity& raw, const RawHostEvent& event) {
  HostEvent made{.kind = event.kind};
  WorkPlace place;
  if (event.kind == HostEventKind::StageRange) {
    const engine::RangePlace said = engine::range_place(event.name).value_or(engine::RangePlace{});
    place = {.tag = said.tag, .iteration = said.iteration};
  } else {
    place = place_of_call(raw, event.correlation);
  }
  made.iteration = place.iteration;
  made.layer = static_cast<std::uint8_t>(place.tag.layer);
  made.stage = place.tag.stage;
  return made;
}

}  // namespace

std::uint64_t pack(const WorkPlace& place) {
  return (static_cast<std::uint64_t>(place.iteration + 1) << kIterationShift) |
         (static_cast<std::uint64_t>((place.tag.expert + 1) & 0xFFFF) << kExpertShift) |
         (static_cast<std::uint64_t>(place.tag.layer & 0xFF) << kLayerShift) |
         (static_cast<std::uint64_t>(place.tag.writes) << kWritesShift) |
         static_cast<std::uint64_t>(place.tag.stage);
}

WorkPlace unpack(std::uint64_t id) {
  return {.tag = {.stage = static_cast<engine::Stage>(id & 0xFF),
                  .layer = static_cast<int>(id >> kLayerShift & 0xFF),
                  .expert = static_cast<int>(id >> kExpertShift & 0xFFFF) - 1,
                  .writes = static_cast<engine::WrittenValue>(id >> kWritesShift & 0xFF)},
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

namespace {

void add_events(const RawActivity& raw, std::uint64_t origin_ns, Activity& activity) {
  NameTable names(activity.names);
  const auto kernels = loaded_kernels(raw);
  std::unordered_map<std::uint32_t, std::uint16_t> lanes;
  const auto relative = [&](std::uint64_t time) {
    return static_cast<std::int64_t>(time) - static_cast<std::int64_t>(origin_ns);
  };
  activity.host_events.reserve(raw.events.host.size());
  for (const RawHostEvent& event : raw.events.host) {
    HostEvent& made = activity.host_events.emplace_back(host_event(raw, event));
    made.start_ns = relative(event.start_ns);
    made.end_ns = relative(event.end_ns);
    made.lane = lanes.emplace(event.thread, static_cast<std::uint16_t>(lanes.size())).first->second;
    if (event.kind == HostEventKind::LazyLoading) {
      const std::uint32_t kernel = kernels.at(event.correlation);
      made.name = kernel == kNoName ? names.of(kUnknownKernel) : kernel;
    } else {
      // One name for all iterations: the number is a field.
      made.name =
          names.of(made.iteration >= 0 && event.kind == HostEventKind::StageRange ? kIterationRange
                                                                                  : event.name);
    }
  }
  // If two begin at the same time, the enclosing one comes first.
  std::ranges::stable_sort(activity.host_events, [](const HostEvent& a, const HostEvent& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  inherit_iterations(activity.host_events);
  activity.memory_events.reserve(raw.events.memory.size());
  for (const RawMemoryEvent& event : raw.events.memory) {
    MemoryEvent& made = activity.memory_events.emplace_back(event.event);
    const WorkPlace place = place_of_call(raw, event.correlation);
    made.time_ns = relative(static_cast<std::uint64_t>(made.time_ns));
    made.iteration = place.iteration;
    made.layer = static_cast<std::uint8_t>(place.tag.layer);
    made.stage = place.tag.stage;
  }
  std::ranges::stable_sort(activity.memory_events, {}, &MemoryEvent::time_ns);
}

/// "cudaGraphLaunch_v10000" -> "cudaGraphLaunch": CUPTI appends the version of the function.
std::string readable_call_name(std::string_view name) {
  const std::size_t version = name.rfind("_v");
  const bool versioned =
      version != std::string_view::npos && version + 2 < name.size() &&
      name.find_first_not_of("0123456789", version + 2) == std::string_view::npos;
  return std::string(name.substr(0, versioned ? version : name.size()));
}

/// Adds the calls that records name to the activity, each once.
class CallTable {
 public:
  CallTable(const RawActivity& raw, std::uint64_t origin_ns, Activity& activity)
      : raw_(raw), origin_ns_(origin_ns), activity_(activity), names_(activity.names) {}

  std::uint32_t number_of(std::uint32_t correlation) {
    const auto call = raw_.calls.find(correlation);
    if (call == raw_.calls.end() || call->second.name == nullptr) return 0;
    const auto [number, first] = numbers_.emplace(correlation, 0U);
    if (first && activity_.calls.size() < kMaxCalls) {
      const auto relative = [this](std::uint64_t time) {
        return static_cast<std::int64_t>(time) - static_cast<std::int64_t>(origin_ns_);
      };
      activity_.calls.push_back({.start_ns = relative(call->second.start_ns),
                                 .end_ns = relative(call->second.end_ns),
                                 .name = names_.of(readable_call_name(call->second.name))});
      number->second = static_cast<std::uint32_t>(activity_.calls.size());
    }
    return number->second;
  }

 private:
  const RawActivity& raw_;
  std::uint64_t origin_ns_;
  Activity& activity_;
  NameTable names_;
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;
};

}  // namespace

Activity attribute(RawActivity raw, const GraphKnowledge& graphs, std::uint64_t origin_ns) {
  Activity activity;
  activity.names = std::move(raw.names);
  activity.nodes = graphs.nodes;
  activity.shapes = std::move(raw.shapes);
  CallTable calls(raw, origin_ns, activity);
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
                                .stage = place.tag.stage,
                                .writes = place.tag.writes,
                                .shape = record.shape,
                                .call = calls.number_of(record.correlation)});
  }
  std::stable_sort(
      activity.records.begin(), activity.records.end(),
      [](const ActivityRecord& a, const ActivityRecord& b) { return a.start_ns < b.start_ns; });
  add_events(raw, origin_ns, activity);
  return activity;
}

}  // namespace profiling
