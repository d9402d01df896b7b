// A captured graph as the doctor sees it: every node with its parameters, every edge with its kind,
// and the memory known when the snapshot was taken. Plain values: a snapshot is stored in a session
// file and can be read without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/model/allocation.h"
#include "engine/model/error.h"
#include "engine/model/expert_layer.h"
#include "engine/model/fields.h"
#include "engine/model/stage.h"
#include "engine/model/written_value.h"
#include "profiling/hazards/model/compared_replay.h"

namespace profiling {

inline constexpr int kMaxSnapshotGraphs = 1000;
inline constexpr std::size_t kMaxCapturedCommunicators = 1000;           // of one graph
inline constexpr int kMaxGraphLaunches = 10'000;                         // of a step
inline constexpr std::size_t kMaxParameterBytes = std::size_t{1} << 16;  // of one kernel node
inline constexpr std::size_t kMaxSlots = std::size_t{1} << 14;           // of one kernel node

/// The driver's numbering, CUgraphNodeType. The numbers are stored in session files.
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
constexpr auto enum_names(NodeType) {
  using enum NodeType;
  return std::to_array<std::pair<NodeType, std::string_view>>(
      {{Kernel, "kernel"},
       {Memcpy, "memcpy"},
       {Memset, "memset"},
       {Host, "host call"},
       {ChildGraph, "child graph"},
       {Empty, "empty"},
       {WaitEvent, "event wait"},
       {RecordEvent, "event record"},
       {SignalSemaphore, "semaphore signal"},
       {WaitSemaphore, "semaphore wait"},
       {MemAlloc, "memory allocate"},
       {MemFree, "memory free"},
       {BatchMemOp, "memory write"},
       {Conditional, "conditional"},
       {Unknown, "unknown"}});
}

struct Extent {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  bool operator==(const Extent&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&Extent::x, &Extent::y, &Extent::z>();
  }
};

/// One parameter inside KernelNode::parameters.
struct ParameterSlot {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  bool operator==(const ParameterSlot&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&ParameterSlot::offset, &ParameterSlot::bytes>();
  }
};

/// A tensor map (CUtensorMap) inside KernelNode::parameters, with what it was encoded for: its own
/// bytes are opaque.
struct TensorMap {
  std::uint32_t offset = 0;   // in the argument bytes
  std::uint64_t address = 0;  // of the tensor
  std::uint64_t bytes = 0;    // from there to the tensor's end; 0 = not known
  bool operator==(const TensorMap&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&TensorMap::offset, &TensorMap::address, &TensorMap::bytes>();
  }
};
inline constexpr std::uint32_t kTensorMapBytes = 128;
inline constexpr std::uint32_t kTensorMapAlign = 64;  // in argument bytes
inline constexpr std::size_t kMaxTensorMaps = kMaxParameterBytes / kTensorMapBytes;

enum class Known : std::uint8_t { Unknown, No, Yes };
constexpr auto enum_names(Known) {
  return std::to_array<std::string_view>({"unknown", "no", "yes"});
}

struct KernelNode {
  std::string function = {};  // mangled; empty = not reported by the driver
  Extent grid = {};
  Extent block = {};
  Extent cluster = {};
  std::uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  std::vector<std::byte> parameters = {};  // argument bytes at their offsets; empty = not known
  std::vector<ParameterSlot> slots = {};   // ascending; empty = layout not known
  Known waits_for_programmatic = Known::Unknown;  // executes griddepcontrol.wait
  std::uint64_t unloaded_at = 0;  // its module, on the ledger's clock; 0 = loaded, or not known
  std::uint64_t code = 0;         // which loaded kernel: several may have one name; 0 = not known
  bool updated = false;           // got other parameters after the instantiation
  /// Those whose encoding was seen, ascending. Of a program that was watched.
  std::vector<TensorMap> tensor_maps = {};
  bool operator==(const KernelNode&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&KernelNode::function>(),
                      engine::field<&KernelNode::grid>(),
                      engine::field<&KernelNode::block>(),
                      engine::field<&KernelNode::cluster>(),
                      engine::field<&KernelNode::dynamic_shared_bytes>(),
                      engine::field<&KernelNode::cooperative>(),
                      engine::field<&KernelNode::parameters>({.most = kMaxParameterBytes}),
                      engine::field<&KernelNode::slots>({.most = kMaxSlots, .columns = true}),
                      engine::field<&KernelNode::waits_for_programmatic>(),
                      engine::field<&KernelNode::unloaded_at>(),
                      engine::field<&KernelNode::code>(),
                      engine::field<&KernelNode::updated>(),
                      engine::field<&KernelNode::tensor_maps>({.most = kMaxTensorMaps})};
  }
};

struct MemsetNode {
  std::uint64_t address = 0;
  std::uint32_t value = 0;
  std::uint32_t element_bytes = 1;
  std::uint64_t width = 0;   // elements
  std::uint64_t height = 1;  // rows, pitch bytes apart
  std::uint64_t pitch = 0;

  /// Size of the range from the first to the last byte written.
  std::uint64_t bytes() const {
    const std::uint64_t row = width * element_bytes;
    return height <= 1 ? row : (height - 1) * pitch + row;
  }
  bool operator==(const MemsetNode&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&MemsetNode::address, &MemsetNode::value, &MemsetNode::element_bytes,
                          &MemsetNode::width, &MemsetNode::height, &MemsetNode::pitch>();
  }
};

struct MemcpyNode {
  engine::MemorySpace source_space = engine::MemorySpace::Unknown;
  engine::MemorySpace target_space = engine::MemorySpace::Unknown;
  std::uint64_t source = 0;  // 0 = an array or not known
  std::uint64_t target = 0;
  std::uint64_t bytes = 0;
  bool operator==(const MemcpyNode&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&MemcpyNode::source_space, &MemcpyNode::target_space, &MemcpyNode::source,
                          &MemcpyNode::target, &MemcpyNode::bytes>();
  }
};

struct MemAllocNode {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool operator==(const MemAllocNode&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&MemAllocNode::address, &MemAllocNode::bytes>();
  }
};

struct MemFreeNode {
  std::uint64_t address = 0;
  bool operator==(const MemFreeNode&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&MemFreeNode::address>();
  }
};

enum class Condition : std::uint8_t { If, While, Switch };
constexpr auto enum_names(Condition) {
  return std::to_array<std::string_view>({"if", "while", "switch"});
}

/// The nodes of its bodies have it as their parent (SnapshotNode::body).
struct ConditionalNode {
  Condition condition = Condition::If;
  std::uint32_t bodies = 0;
  bool operator==(const ConditionalNode&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&ConditionalNode::condition, &ConditionalNode::bodies>();
  }
};

using NodeParameters = std::variant<std::monostate, KernelNode, MemsetNode, MemcpyNode,
                                    MemAllocNode, MemFreeNode, ConditionalNode>;

}  // namespace profiling

template <>
struct engine::ChoiceNames<profiling::NodeParameters> {
  static constexpr std::string_view name = "profiling::NodeParameters";
  static constexpr std::array<std::string_view, 7> names = {
      "", "kernel", "memset", "memcpy", "mem_alloc", "mem_free", "conditional"};
};

namespace profiling {

struct SnapshotNode {
  NodeType type = NodeType::Unknown;
  std::uint64_t id = 0;   // as in GraphNode::id of the run's activity; 0 = not known
  std::string name = {};  // kernel name without parameters, "memset", ...
  engine::Stage stage = engine::Stage::Other;
  int layer = 0;
  engine::WrittenValue writes = engine::WrittenValue::Unknown;  // as in GraphNode
  int parent = -1;  // index of the child-graph or conditional node that contains it; -1 = top level
  NodeParameters parameters = {};
  std::string captured_at = {};  // "train.py:42 step, called by main.py:7 main"; empty = not known
  int body = 0;                  // of a conditional parent, from 0: of several, one is executed
  bool operator==(const SnapshotNode&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&SnapshotNode::type>(),
        engine::field<&SnapshotNode::id>(),
        engine::field<&SnapshotNode::name>(),
        engine::field<&SnapshotNode::stage>(),
        engine::field<&SnapshotNode::layer>({.low = 0, .high = engine::kMaxGraphNodes}),
        engine::field<&SnapshotNode::parent>({.low = -1, .high = engine::kMaxGraphNodes}),
        engine::field<&SnapshotNode::parameters>(),
        engine::field<&SnapshotNode::writes>(),
        engine::field<&SnapshotNode::captured_at>(),
        engine::field<&SnapshotNode::body>({.low = 0, .high = engine::kMaxGraphNodes})};
  }
};

/// The driver's edge types. Only Full orders memory: the others order nothing unless the consumer
/// waits (griddepcontrol.wait).
enum class EdgeKind : std::uint8_t { Full, Programmatic, LaunchOrder };
constexpr auto enum_names(EdgeKind) {
  return std::to_array<std::string_view>({"full", "programmatic", "launch order"});
}

/// Indices into GraphSnapshot::nodes.
struct SnapshotEdge {
  int from = 0;
  int to = 0;
  EdgeKind kind = EdgeKind::Full;
  bool operator==(const SnapshotEdge&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&SnapshotEdge::from>({.low = 0, .high = engine::kMaxGraphNodes}),
        engine::field<&SnapshotEdge::to>({.low = 0, .high = engine::kMaxGraphNodes}),
        engine::field<&SnapshotEdge::kind>()};
  }
};

/// A capture that the driver refused or aborted. CUDA's runtime error numbers.
struct CaptureFailure {
  int code = 0;           // 900 unsupported, 901 invalidated, 904 unjoined, ...; 0 = none
  std::string name = {};  // "cudaErrorStreamCaptureUnjoined"
  std::string call = {};  // the call that failed, if known
  bool operator==(const CaptureFailure&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&CaptureFailure::code>({.low = 0, .high = 1 << 20}),
                      engine::field<&CaptureFailure::name>(),
                      engine::field<&CaptureFailure::call>()};
  }
};

/// An event between the first and last call of a capture that should not happen there.
struct CaptureEvent {
  enum class Kind : std::uint8_t { LazyLoad, Allocation, Release, HostSync };
  friend constexpr auto enum_names(Kind) {
    return std::to_array<std::string_view>(
        {"a kernel was loaded", "memory was allocated", "memory was released", "the host waited"});
  }
  Kind kind = Kind::LazyLoad;
  std::string what = {};          // kernel, allocation owner or call
  int code = 0;                   // the call's CUDA error; 0 = it succeeded, or not known
  std::string other_thread = {};  // that made the call; empty = the capturing one
  bool operator==(const CaptureEvent&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&CaptureEvent::kind>(), engine::field<&CaptureEvent::what>(),
                      engine::field<&CaptureEvent::code>({.low = 0, .high = 1 << 20}),
                      engine::field<&CaptureEvent::other_thread>()};
  }
};

/// A communicator of NCCL whose collectives or sends a graph has captured.
struct CapturedCommunicator {
  std::string name = {};       // "communicator 2 (rank 3 of 8)"
  std::uint64_t ended_at = 0;  // on the ledger's clock; 0 = it exists, or not known
  std::string ended_by = {};   // "ncclCommDestroy"
  bool operator==(const CapturedCommunicator&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&CapturedCommunicator::name, &CapturedCommunicator::ended_at,
                          &CapturedCommunicator::ended_by>();
  }
};

/// GraphSnapshot::changed of a second capture of a graph that a step launches several times: as it
/// would be captured for its next launch.
inline constexpr std::string_view kNextLaunch = "launch of the step";

/// One captured graph, before it was instantiated.
struct GraphSnapshot {
  std::string name = {};  // "step", "forward", "backward"
  /// A second capture of graphs[variant_of] after `changed` was changed; -1 = not a variant.
  int variant_of = -1;
  std::string changed = {};         // "splits", "scalars", "addresses", or kNextLaunch
  bool degraded = false;            // from a text file: no argument bytes, no memory
  std::uint64_t capture_began = 0;  // on the ledger's clock
  std::uint64_t capture_ended = 0;
  // Of a program that was watched while it ran; otherwise it is not known how often the graph was
  // launched.
  std::int64_t launches = -1;     // -1 = not known
  std::uint64_t last_launch = 0;  // on the ledger's clock; 0 = none
  bool over = false;  // destroyed, and never launched after something that it used was gone
  CaptureFailure failure = {};
  std::vector<CaptureEvent> events = {};
  std::vector<SnapshotNode> nodes = {};  // a node follows its dependencies; children follow parents
  std::vector<SnapshotEdge> edges = {};  // both ends of an edge have the same parent
  std::vector<CapturedCommunicator> communicators = {};
  std::uint64_t destroyed_at = 0;             // on the ledger's clock; 0 = it exists, or not known
  std::vector<ComparedReplay> compared = {};  // of a program whose memory was compared; ascending

  /// Known not to have been launched since then: what was released there has done no harm.
  bool unused_since(std::uint64_t time) const { return launches >= 0 && last_launch <= time; }
  bool operator==(const GraphSnapshot&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&GraphSnapshot::name>(),
        engine::field<&GraphSnapshot::variant_of>({.low = -1, .high = kMaxSnapshotGraphs}),
        engine::field<&GraphSnapshot::changed>(),
        engine::field<&GraphSnapshot::degraded>(),
        engine::field<&GraphSnapshot::capture_began>(),
        engine::field<&GraphSnapshot::capture_ended>(),
        engine::field<&GraphSnapshot::launches>({.low = -1}),
        engine::field<&GraphSnapshot::last_launch>(),
        engine::field<&GraphSnapshot::over>(),
        engine::field<&GraphSnapshot::failure>(),
        engine::field<&GraphSnapshot::events>({.most = 100'000}),
        engine::field<&GraphSnapshot::nodes>({.most = engine::kMaxGraphNodes}),
        engine::field<&GraphSnapshot::edges>({.most = engine::kMaxGraphEdges}),
        engine::field<&GraphSnapshot::communicators>({.most = kMaxCapturedCommunicators}),
        engine::field<&GraphSnapshot::destroyed_at>(),
        engine::field<&GraphSnapshot::compared>({.most = kMaxComparedReplays})};
  }
};

/// One launch of a graph within a step.
struct GraphLaunch {
  int graph = 0;  // index into Snapshot::graphs
  /// Launched on a second stream: it may run at the same time as the launch before it, and waits
  /// only for what that launch waits for. A launch that does not overlap waits for all before it.
  bool overlaps = false;
  bool operator==(const GraphLaunch&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&GraphLaunch::graph>({.low = 0, .high = kMaxSnapshotGraphs}),
                      engine::field<&GraphLaunch::overlaps>()};
  }
};

/// Launches of a kernel outside of captures that had the same arguments and the same shape.
struct EagerLaunch {
  std::uint64_t code = 0;  // KernelNode::code
  Extent grid = {};
  Extent block = {};
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::byte> parameters = {};  // as in KernelNode
  std::uint64_t first_seen = 0;            // on the ledger's clock
  std::uint64_t launches = 0;
  bool operator==(const EagerLaunch&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&EagerLaunch::code>(),
                      engine::field<&EagerLaunch::grid>(),
                      engine::field<&EagerLaunch::block>(),
                      engine::field<&EagerLaunch::dynamic_shared_bytes>(),
                      engine::field<&EagerLaunch::parameters>({.most = kMaxParameterBytes}),
                      engine::field<&EagerLaunch::first_seen>(),
                      engine::field<&EagerLaunch::launches>()};
  }
};
inline constexpr std::size_t kMaxEagerLaunches = 1 << 14;

/// A library that a watched program had loaded, by the name that facts about it have.
struct LoadedLibrary {
  std::string name = {};     // "cuDNN"
  std::string version = {};  // "9.10.2"
  bool operator==(const LoadedLibrary&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&LoadedLibrary::name, &LoadedLibrary::version>();
  }
};

using engine::GraphPool;

/// Everything that the rules read.
struct Snapshot {
  std::string subject = {};  // what was captured: a request's headline, a gallery case, a file
  std::string cublaslt_version = {};    // "13.5.1"; empty = none loaded
  std::string device = {};              // "NVIDIA H200"
  std::string compute_capability = {};  // "9.0"
  std::string driver = {};
  std::vector<GraphSnapshot> graphs = {};
  std::vector<engine::Allocation> ledger = {};  // ascending by id; includes freed ones
  std::uint64_t ledger_clock = 0;               // when the ledger was read
  /// Launches in the order of a step; empty = every graph once, as listed, each after the previous.
  std::vector<GraphLaunch> launches = {};
  std::vector<GraphPool> pools = {};
  engine::StepKind step = engine::StepKind::Linear;  // says what SnapshotNode::layer counts
  std::string nccl_version = {};                     // "2.27.5"; empty = none loaded, or not known
  bool ended = false;                   // of a program that was watched: it has ended by itself
  std::vector<EagerLaunch> eager = {};  // the last few of each captured kernel
  std::vector<LoadedLibrary> libraries = {};  // whose versions are known
  /// Which replays are not compared, and why: "graphs of another context are not compared".
  std::string not_compared = {};
  bool operator==(const Snapshot&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&Snapshot::subject>(),
                      engine::field<&Snapshot::cublaslt_version>(),
                      engine::field<&Snapshot::device>(),
                      engine::field<&Snapshot::compute_capability>(),
                      engine::field<&Snapshot::driver>(),
                      engine::field<&Snapshot::graphs>({.most = kMaxSnapshotGraphs}),
                      engine::field<&Snapshot::ledger>({.most = 1 << 20}),
                      engine::field<&Snapshot::ledger_clock>(),
                      engine::field<&Snapshot::launches>({.most = kMaxGraphLaunches}),
                      engine::field<&Snapshot::pools>({.most = kMaxSnapshotGraphs}),
                      engine::field<&Snapshot::step>(),
                      engine::field<&Snapshot::nccl_version>(),
                      engine::field<&Snapshot::ended>(),
                      engine::field<&Snapshot::eager>({.most = kMaxEagerLaunches}),
                      engine::field<&Snapshot::libraries>({.most = 1000}),
                      engine::field<&Snapshot::not_compared>()};
  }
  engine::Flaw flaw() const;
};

}  // namespace profiling

// Validation of every snapshot read from a file or received from a worker.
namespace profiling {

/// Indices in range, a node after its parent and its dependencies, both ends of an edge under the
/// same parent, parameter slots inside the argument bytes, allocations ascending by id and not
/// wrapping around, enumerators known. The error names graph, node and field.
engine::Status check_snapshot(const Snapshot& snapshot);

}  // namespace profiling
