// From CUPTI's records to Activity: which stage, layer, expert and iteration a record belongs to.
// Plain values, no CUPTI calls, so that it can be tested without a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/observe/step_observer.h"
#include "profiling/cupti/event_records.h"
#include "profiling/trace/activity.h"

namespace profiling {

/// Place of a piece of work, packed into the 64 bits of an external correlation id.
struct WorkPlace {
  engine::WorkTag tag;
  int iteration = -1;
};
std::uint64_t pack(const WorkPlace& place);
WorkPlace unpack(std::uint64_t id);

/// One kernel, copy or memset as CUPTI reports it.
struct RawRecord {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t node_id = 0;  // of the executable graph's node
  std::uint32_t name = 0;     // index into RawActivity::names
  std::uint32_t correlation = 0;
  std::uint32_t stream = 0;
  ActivityKind kind = ActivityKind::Kernel;
  std::uint32_t shape = 0;  // as ActivityRecord::shape, in RawActivity::shapes
};

/// A call of the runtime or the driver. Times are CUPTI's.
struct RawCall {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  const char* name = nullptr;  // CUPTI's own, for as long as the process lives; null = unknown
};

struct RawActivity {
  std::vector<std::string> names;
  std::vector<RawRecord> records;
  std::unordered_map<std::uint32_t, std::uint64_t> places;  // correlation id -> packed WorkPlace
  std::unordered_map<std::uint32_t, RawCall> calls;         // by correlation id
  std::vector<LaunchShape> shapes;
  RawEvents events;
};

/// Known facts about graphs: filled while one is captured and instantiated.
struct GraphKnowledge {
  std::unordered_map<std::uint64_t, engine::WorkTag> tags;    // captured node -> its work
  std::unordered_map<std::uint64_t, std::uint64_t> clone_of;  // clone -> the node it came from
  std::vector<GraphNode> nodes;  // captured, one graph after another, each in topological order

  /// The captured node of a clone; the id itself if it is not a known clone.
  std::uint64_t captured(std::uint64_t node_id) const;
};

/// Times become relative to `origin_ns`; records refer to captured nodes, as Activity::nodes does.
/// A stage range gets its place from its name and its iteration from the enclosing range; every
/// other event gets both from the API call with its correlation id, and a lazy load its kernel.
Activity attribute(RawActivity raw, const GraphKnowledge& graphs, std::uint64_t origin_ns);

}  // namespace profiling
