// What a run did, as records on one time axis: host spans on the CPU, CUPTI activity on CUDA. No
// CUDA here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/stage.h"

namespace profiling {

/// Numbers are in session files. A Graph is a whole launch of a graph whose nodes were not traced.
enum class ActivityKind : std::uint8_t { HostSpan, Kernel, Memcpy, Memset, Graph };

/// 40 bytes; names live once in Activity::names.
struct ActivityRecord {
  std::int64_t start_ns = 0;    // since the first timed iteration of the run
  std::int64_t end_ns = 0;      // >= start_ns
  std::uint64_t node_id = 0;    // CUPTI graph node id; 0 = not from a graph
  std::uint32_t name = 0;       // index into Activity::names
  std::int32_t iteration = -1;  // -1 = outside the timed iterations
  std::int16_t expert = -1;     // -1 = all experts in one launch
  std::uint8_t layer = 0;
  ActivityKind kind = ActivityKind::HostSpan;
  std::uint16_t lane = 0;  // stream (CUDA) or thread (CPU), small numbers
  engine::Stage stage = engine::Stage::Other;

  std::int64_t duration_ns() const { return end_ns - start_ns; }
};
static_assert(sizeof(ActivityRecord) <= 48);

/// A node of the captured graph as CUPTI and the driver name it.
struct GraphNode {
  std::uint64_t id = 0;
  std::string name;  // kernel name, "memset", ...
  engine::Stage stage = engine::Stage::Other;
  std::uint8_t layer = 0;
  std::vector<std::uint64_t> dependencies;  // node ids that must finish first
};

struct Activity {
  std::vector<std::string> names;
  std::vector<ActivityRecord> records;  // sorted by start_ns
  std::vector<GraphNode> nodes;         // empty without a graph; in topological order
};

}  // namespace profiling
