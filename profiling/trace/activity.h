// What a run did, as records on one time axis: host spans on the CPU, CUPTI activity on CUDA. Host
// and memory events are kept separately from the records of work: no statistics of work include
// them. No CUDA here.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/allocation.h"
#include "engine/model/fields.h"
#include "engine/model/stage.h"
#include "engine/model/written_value.h"

namespace profiling {

/// Numbers are stored in session files. A Graph is a whole launch of a graph whose nodes were not
/// traced.
enum class ActivityKind : std::uint8_t { HostSpan, Kernel, Memcpy, Memset, Graph };
constexpr auto enum_names(ActivityKind) {
  return std::to_array<std::string_view>({"host-span", "kernel", "memcpy", "memset", "graph"});
}

/// 48 bytes; names, shapes and calls live once in Activity.
struct ActivityRecord {
  std::int64_t start_ns = 0;    // since the first timed iteration of the run
  std::int64_t end_ns = 0;      // >= start_ns
  std::uint64_t node_id = 0;    // CUPTI graph node id; 0 = not from a graph
  std::uint32_t name = 0;       // index into Activity::names
  std::int32_t iteration = -1;  // -1 = outside the timed iterations
  std::int16_t expert = -1;     // -1 = all experts in one launch
  std::uint8_t layer = 0;
  ActivityKind kind = ActivityKind::HostSpan;
  std::uint16_t lane = 0;  // stream (CUDA) or thread (CPU), a small number
  engine::Stage stage = engine::Stage::Other;
  /// With the stage, the operation that launched it: engine::operation_name().
  engine::WrittenValue writes = engine::WrittenValue::Unknown;
  std::uint32_t shape = 0;  // number in Activity::shapes, from 1; 0 = not recorded
  std::uint32_t call = 0;   // number in Activity::calls, from 1; 0 = not recorded

  std::int64_t duration_ns() const { return end_ns - start_ns; }
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ActivityRecord::start_ns>(),
                      engine::field<&ActivityRecord::end_ns>(),
                      engine::field<&ActivityRecord::node_id>(),
                      engine::field<&ActivityRecord::name>(),
                      engine::field<&ActivityRecord::iteration>({.low = -1}),
                      engine::field<&ActivityRecord::expert>(),
                      engine::field<&ActivityRecord::layer>(),
                      engine::field<&ActivityRecord::kind>(),
                      engine::field<&ActivityRecord::lane>(),
                      engine::field<&ActivityRecord::stage>(),
                      engine::field<&ActivityRecord::shape>(),
                      engine::field<&ActivityRecord::call>(),
                      engine::field<&ActivityRecord::writes>()};
  }
  engine::Flaw flaw() const {
    return end_ns < start_ns ? engine::Flaw{"end_ns", "lies before its start_ns"} : engine::Flaw();
  }
};
static_assert(sizeof(ActivityRecord) == 48);

/// How work was launched and what it moves. Equal ones are kept once.
struct LaunchShape {
  std::uint32_t grid_x = 0;  // blocks; 0 = no kernel
  std::uint32_t grid_y = 0;
  std::uint32_t grid_z = 0;
  std::uint32_t block_x = 0;  // threads
  std::uint32_t block_y = 0;
  std::uint32_t block_z = 0;
  std::uint32_t registers_per_thread = 0;
  std::uint32_t static_shared_bytes = 0;  // per block
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint64_t bytes = 0;  // that a copy or memset writes; of a kernel they are not known
  bool kernel() const { return grid_x > 0; }
  auto operator<=>(const LaunchShape&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&LaunchShape::grid_x, &LaunchShape::grid_y, &LaunchShape::grid_z,
                          &LaunchShape::block_x, &LaunchShape::block_y, &LaunchShape::block_z,
                          &LaunchShape::registers_per_thread, &LaunchShape::static_shared_bytes,
                          &LaunchShape::dynamic_shared_bytes, &LaunchShape::bytes>();
  }
};

/// The host's call that launched work: one for all nodes of a graph launch.
struct HostCall {
  std::int64_t start_ns = 0;  // as in ActivityRecord
  std::int64_t end_ns = 0;    // >= start_ns
  std::uint32_t name = 0;     // index into Activity::names: "cudaGraphLaunch"
  bool operator==(const HostCall&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&HostCall::start_ns, &HostCall::end_ns, &HostCall::name>();
  }
  engine::Flaw flaw() const {
    return end_ns < start_ns ? engine::Flaw{"end_ns", "lies before its start_ns"} : engine::Flaw();
  }
};

/// A node of the captured graph as identified by CUPTI and the driver.
struct GraphNode {
  std::uint64_t id = 0;
  std::string name;  // kernel name, "memset", ...
  engine::Stage stage = engine::Stage::Other;
  std::uint8_t layer = 0;
  engine::WrittenValue writes = engine::WrittenValue::Unknown;  // as in ActivityRecord
  std::vector<std::uint64_t> dependencies;                      // node ids that must finish first
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&GraphNode::id, &GraphNode::name, &GraphNode::stage, &GraphNode::layer,
                          &GraphNode::dependencies, &GraphNode::writes>();
  }
};

/// Numbers are in session files.
enum class HostEventKind : std::uint8_t {
  StageRange,     // the host was in this stage's launches, or in this iteration (NVTX)
  LazyLoading,    // the driver loaded a kernel on first use
  ModuleLoading,  // the runtime loaded a module
  Compiler,       // the driver translated PTX
  QueueFull,      // the host waited because the device's queue was full
  Tracing,        // the tracer's own work: instrumentation, flushes and buffers
  Other,
};
constexpr auto enum_names(HostEventKind) {
  return std::to_array<std::string_view>({"stage range", "lazy loading", "module loading",
                                          "compiler", "launch queue full", "tracing",
                                          "other overhead"});
}
inline constexpr auto kHostEventNames = enum_names(HostEventKind{});

/// What kept a host thread busy around the step.
struct HostEvent {
  std::int64_t start_ns = 0;  // as in ActivityRecord
  std::int64_t end_ns = 0;    // >= start_ns
  std::uint32_t name = 0;     // index into Activity::names: a range's name, the loaded kernel, ...
  std::int32_t iteration = -1;  // -1 = outside the timed iterations
  std::uint8_t layer = 0;
  HostEventKind kind = HostEventKind::Other;
  std::uint16_t lane = 0;  // host thread, a small number
  engine::Stage stage = engine::Stage::Other;
  bool operator==(const HostEvent&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&HostEvent::start_ns>(), engine::field<&HostEvent::end_ns>(),
        engine::field<&HostEvent::name>(),     engine::field<&HostEvent::iteration>({.low = -1}),
        engine::field<&HostEvent::layer>(),    engine::field<&HostEvent::kind>(),
        engine::field<&HostEvent::lane>(),     engine::field<&HostEvent::stage>()};
  }
  engine::Flaw flaw() const {
    return end_ns < start_ns ? engine::Flaw{"end_ns", "lies before its start_ns"} : engine::Flaw();
  }
};

/// Numbers are in session files.
enum class MemoryOperation : std::uint8_t { Allocate, Release, MakePool, EndPool, TrimPool };
constexpr auto enum_names(MemoryOperation) {
  return std::to_array<std::string_view>(
      {"allocate", "release", "make pool", "end pool", "trim pool"});
}
inline constexpr auto kMemoryOperationNames = enum_names(MemoryOperation{});

/// An allocation, a release, or a change of a memory pool, as reported by the driver.
struct MemoryEvent {
  std::int64_t time_ns = 0;
  std::uint64_t address = 0;     // for pool events: the pool's address
  std::uint64_t bytes = 0;       // for a trimmed pool: what it may keep
  std::uint64_t pool = 0;        // 0 = not from a pool
  std::uint64_t pool_bytes = 0;  // the pool's size at that time
  std::uint64_t pool_used = 0;   // of which allocated; 0 if the driver does not report it
  std::int32_t iteration = -1;
  std::uint8_t layer = 0;
  MemoryOperation operation = MemoryOperation::Allocate;
  engine::MemorySpace space = engine::MemorySpace::Unknown;
  engine::Stage stage = engine::Stage::Other;
  bool stream_ordered = false;
  bool operator==(const MemoryEvent&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&MemoryEvent::time_ns>(),
                      engine::field<&MemoryEvent::address>(),
                      engine::field<&MemoryEvent::bytes>(),
                      engine::field<&MemoryEvent::pool>(),
                      engine::field<&MemoryEvent::pool_bytes>(),
                      engine::field<&MemoryEvent::pool_used>(),
                      engine::field<&MemoryEvent::iteration>({.low = -1}),
                      engine::field<&MemoryEvent::layer>(),
                      engine::field<&MemoryEvent::operation>(),
                      engine::field<&MemoryEvent::space>(),
                      engine::field<&MemoryEvent::stage>(),
                      engine::field<&MemoryEvent::stream_ordered>()};
  }
};

/// Limit of one run; a run with more names is not recorded.
inline constexpr std::size_t kMaxNames = std::size_t{1} << 20;
/// A run keeps at most this many of each; further ones count as dropped.
inline constexpr std::size_t kMaxHostEvents = 1'000'000;
inline constexpr std::size_t kMaxMemoryEvents = 1'000'000;
/// Work beyond these has no shape or call, and is recorded all the same.
inline constexpr std::size_t kMaxShapes = std::size_t{1} << 16;
inline constexpr std::size_t kMaxCalls = 1'000'000;

struct Activity {
  std::vector<std::string> names;
  std::vector<ActivityRecord> records;          // sorted by start_ns
  std::vector<GraphNode> nodes;                 // empty without a graph; in topological order
  std::vector<HostEvent> host_events = {};      // sorted by start_ns
  std::vector<MemoryEvent> memory_events = {};  // sorted by time_ns
  std::vector<LaunchShape> shapes = {};         // of the records
  std::vector<HostCall> calls = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&Activity::names>({.most = kMaxNames}),
        engine::field<&Activity::records>({.columns = true}),
        engine::field<&Activity::nodes>({.most = engine::kMaxGraphNodes}),
        engine::field<&Activity::host_events>({.most = kMaxHostEvents, .columns = true}),
        engine::field<&Activity::memory_events>({.most = kMaxMemoryEvents, .columns = true}),
        engine::field<&Activity::shapes>({.most = kMaxShapes, .columns = true}),
        engine::field<&Activity::calls>({.most = kMaxCalls, .columns = true})};
  }
};

/// Null where it was not recorded.
inline const LaunchShape* shape_of(const Activity& activity, const ActivityRecord& record) {
  const bool known = record.shape > 0 && record.shape <= activity.shapes.size();
  return known ? &activity.shapes[record.shape - 1] : nullptr;
}
inline const HostCall* call_of(const Activity& activity, const ActivityRecord& record) {
  const bool known = record.call > 0 && record.call <= activity.calls.size() &&
                     activity.calls[record.call - 1].name < activity.names.size();
  return known ? &activity.calls[record.call - 1] : nullptr;
}

}  // namespace profiling
