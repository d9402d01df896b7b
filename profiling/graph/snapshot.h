// A captured graph as the doctor sees it: every node with its parameters, every edge with its kind,
// and the memory that was known when it was taken. Plain values: a snapshot travels in a session
// file and is read without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/model/allocation.h"
#include "engine/model/stage.h"

namespace profiling {

/// The driver's numbering, CUgraphNodeType. Numbers are in session files.
enum class NodeType : std::uint8_t {
  Kernel,
  Memcpy,
  Memset,
  Host,
  ChildGraph,
  Empty,
  WaitEvent,
  RecordEvent,
  SignalSemaphore,
  WaitSemaphore,
  MemAlloc,
  MemFree,
  BatchMemOp,
  Conditional,
  Unknown = 255,
};

struct Extent {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  bool operator==(const Extent&) const = default;
};

/// One parameter inside KernelNode::parameters.
struct ParameterSlot {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  bool operator==(const ParameterSlot&) const = default;
};

enum class Known : std::uint8_t { Unknown, No, Yes };

struct KernelNode {
  std::string function = {};  // mangled; empty = the driver did not tell
  Extent grid = {};
  Extent block = {};
  Extent cluster = {};
  std::uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  std::vector<std::byte> parameters = {};  // argument bytes at their offsets; empty = not known
  std::vector<ParameterSlot> slots = {};   // ascending; empty = layout not known
  Known waits_for_programmatic = Known::Unknown;  // executes griddepcontrol.wait
  bool operator==(const KernelNode&) const = default;
};

struct MemsetNode {
  std::uint64_t address = 0;
  std::uint32_t value = 0;
  std::uint32_t element_bytes = 1;
  std::uint64_t width = 0;   // elements
  std::uint64_t height = 1;  // rows, pitch bytes apart
  std::uint64_t pitch = 0;

  /// Of the range from the first to the last byte written.
  std::uint64_t bytes() const {
    const std::uint64_t row = width * element_bytes;
    return height <= 1 ? row : (height - 1) * pitch + row;
  }
  bool operator==(const MemsetNode&) const = default;
};

struct MemcpyNode {
  engine::MemorySpace source_space = engine::MemorySpace::Unknown;
  engine::MemorySpace target_space = engine::MemorySpace::Unknown;
  std::uint64_t source = 0;  // 0 = an array or not known
  std::uint64_t target = 0;
  std::uint64_t bytes = 0;
  bool operator==(const MemcpyNode&) const = default;
};

struct MemAllocNode {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool operator==(const MemAllocNode&) const = default;
};

struct MemFreeNode {
  std::uint64_t address = 0;
  bool operator==(const MemFreeNode&) const = default;
};

using NodeParameters =
    std::variant<std::monostate, KernelNode, MemsetNode, MemcpyNode, MemAllocNode, MemFreeNode>;

struct SnapshotNode {
  NodeType type = NodeType::Unknown;
  std::uint64_t id = 0;   // as in GraphNode::id of the run's activity; 0 = not known
  std::string name = {};  // kernel name without parameters, "memset", ...
  engine::Stage stage = engine::Stage::Other;
  int layer = 0;
  int parent = -1;  // index of the child-graph or conditional node that holds it; -1 = top level
  NodeParameters parameters = {};
  bool operator==(const SnapshotNode&) const = default;
};

/// The driver's edge types. Only Full orders memory: the others order nothing unless the consumer
/// waits (griddepcontrol.wait).
enum class EdgeKind : std::uint8_t { Full, Programmatic, LaunchOrder };

/// Indices into GraphSnapshot::nodes.
struct SnapshotEdge {
  int from = 0;
  int to = 0;
  EdgeKind kind = EdgeKind::Full;
  bool operator==(const SnapshotEdge&) const = default;
};

/// A capture that the driver refused or broke off. CUDA's runtime error numbers.
struct CaptureFailure {
  int code = 0;           // 900 unsupported, 901 invalidated, 904 unjoined, ...; 0 = none
  std::string name = {};  // "cudaErrorStreamCaptureUnjoined"
  std::string call = {};  // what was called when it failed, if known
  bool operator==(const CaptureFailure&) const = default;
};

/// What happened between the first and the last call of a capture that a capture should not have.
struct CaptureEvent {
  enum class Kind : std::uint8_t { LazyLoad, Allocation, Release, HostSync };
  Kind kind = Kind::LazyLoad;
  std::string what = {};  // kernel, allocation owner or call
  bool operator==(const CaptureEvent&) const = default;
};

/// One captured graph, before it was instantiated.
struct GraphSnapshot {
  std::string name = {};  // "step", "forward", "backward"
  /// This is a second capture of graphs[variant_of] after `changed` was changed; -1 = it is not.
  int variant_of = -1;
  std::string changed = {};         // "splits", "scalars", "addresses"
  bool degraded = false;            // from a text file: no argument bytes, no memory
  std::uint64_t capture_began = 0;  // on the ledger's clock
  std::uint64_t capture_ended = 0;
  CaptureFailure failure = {};
  std::vector<CaptureEvent> events = {};
  std::vector<SnapshotNode> nodes =
      {};  // a node follows those it depends on; children follow parents
  std::vector<SnapshotEdge> edges = {};  // both ends of an edge have the same parent
  bool operator==(const GraphSnapshot&) const = default;
};

/// All that the rules read.
struct Snapshot {
  std::string subject = {};  // what was captured: a request's headline, a gallery case, a file
  std::string cublaslt_version = {};    // "13.5.1"; empty = none loaded
  std::string device = {};              // "NVIDIA H200"
  std::string compute_capability = {};  // "9.0"
  std::string driver = {};
  std::vector<GraphSnapshot> graphs = {};
  std::vector<engine::Allocation> ledger = {};  // ascending by id; freed ones too
  std::uint64_t ledger_clock = 0;               // when the ledger was read
  bool operator==(const Snapshot&) const = default;
};

}  // namespace profiling
