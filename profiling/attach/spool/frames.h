// The spool: one file per attached process, which the preloaded library writes and the desk reads,
// also while it grows.
//
// The file is mapped by its writer, so that a killed process loses nothing that it had written: the
// pages are the kernel's. It begins with a FileHeader; frames follow, each a FrameHeader and its
// payload, rounded up to 8 bytes. A frame's offset in the file is its position on the process's
// clock: releases are recorded before the driver's call, allocations after it, so positions order
// both even if threads reuse an address.
//
// Freestanding, because the preloaded library must not need a C++ runtime: plain structures in the
// byte order and alignment of x86-64.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/model/word_hash.h"

namespace profiling::spool {

inline constexpr std::uint64_t kFileMagic = 0x314C4F4F50535358;  // "XSSPOOL1"
inline constexpr std::uint32_t kFrameMagic = 0x4D415246;         // "FRAM"
inline constexpr std::uint32_t kVersion = 1;

inline constexpr std::size_t kLiveGraphs =
    2048;  // executable graphs whose launches are counted at the same time
inline constexpr std::size_t kWaits = 256;                // threads that wait at the same time
inline constexpr std::uint32_t kMaxText = 1U << 16;       // bytes of one name
inline constexpr std::uint32_t kMaxArguments = 1U << 16;  // bytes of one kernel's arguments
inline constexpr std::uint32_t kMaxFrame = 1U << 20;      // bytes of one frame

/// Launches of one executable graph, counted in place: a launch writes no frame.
struct GraphCounter {
  std::atomic<std::uint64_t> exec;   // its handle; 0 = unused
  std::atomic<std::uint64_t> graph;  // GraphBegan::graph
  std::atomic<std::uint64_t> launches;
  std::atomic<std::uint64_t> last_launch;  // position; 0 = never
  std::atomic<std::uint64_t> last_stream;
};

/// Calls that may wait for the device. Reports have the names that the runtime's calls have.
enum class WaitCall : std::uint32_t {
  StreamSynchronize,
  EventSynchronize,
  ContextSynchronize,
  GraphLaunch,
  CommunicatorEnd,       // of any kind: it may wait until graphs are gone
  BeforeComparedLaunch,  // GraphLaunch that waits until its stream is idle, to compare memory
  AfterComparedLaunch    // GraphLaunch that waits for the end of its replay, to compare memory
};
inline constexpr WaitCall kLastWaitCall = WaitCall::AfterComparedLaunch;

/// A call of one thread that has not returned.
struct Wait {
  std::atomic<std::uint32_t> thread;  // 0 = unused
  std::atomic<WaitCall> call;
  std::atomic<std::uint64_t> since;   // nanoseconds on CLOCK_MONOTONIC; 0 = being filled
  std::atomic<std::uint64_t> stream;  // 0 = none, or the default one
};

struct FileHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;  // sizeof(FileHeader): the first frame's offset
  std::uint32_t process;
  std::uint32_t parent;
  std::uint64_t started;                   // nanoseconds since 1970
  std::uint64_t limit;                     // bytes that the file may reach
  std::atomic<std::uint64_t> end;          // of the last reserved frame
  std::atomic<std::uint64_t> lost_frames;  // no room, or no memory to read a graph
  std::atomic<std::uint64_t> graphs_made;  // instantiations so far
  std::atomic<std::uint32_t> ended;        // 1 = the process ended by itself
  std::uint32_t unused;
  GraphCounter graphs[kLiveGraphs];
  std::atomic<std::uint64_t> longest_wait;  // nanoseconds, of those that have returned
  Wait waits[kWaits];
};

enum class Kind : std::uint16_t {
  Process = 1,
  Driver,
  Library,
  Thread,
  Allocation,
  Release,
  CaptureBegan,
  CaptureEnded,
  Call,
  Function,
  GraphBegan,
  Node,
  Edges,
  GraphRead,
  NodeChanged,
  GraphDestroyed,
  ModuleUnloaded,
  Device,
  Address,
  Stack,
  Communicator,
  CommunicatorCaptured,
  CommunicatorEnded,
  EagerLaunch,
  Body,
  TensorBlock,
  TensorBlockReleased,
  ReplayCompared,
  ComparisonsStopped,
  GraphMarked,
  MarkerState,
  TensorMap,
  NodeCall,
};

/// `bytes` and `magic` are written when the frame is reserved, `check` last: until then the frame
/// is incomplete.
struct FrameHeader {
  std::uint32_t magic;
  std::uint32_t bytes;  // with this header, a multiple of 8
  Kind kind;
  std::uint16_t unused;
  std::uint32_t thread;
  std::uint64_t time;  // nanoseconds on CLOCK_MONOTONIC
  std::atomic<std::uint64_t> check;
};

/// Of everything behind the header, and of its kind. Never 0. Catches torn and overwritten frames;
/// no protection against intent.
inline std::uint64_t check_of(Kind kind, const std::byte* payload, std::size_t bytes) {
  std::uint64_t hash = engine::kWordHashSeed ^ static_cast<std::uint64_t>(kind);
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    std::uint64_t word = 0;
    __builtin_memcpy(&word, payload + at, 8);
    hash = engine::with_word(hash, word);
  }
  return hash | 1;
}

// ---- Payloads. `..._bytes` of text follow the structure, without a terminating zero, in the order
// of the members.

struct Process {
  static constexpr Kind kKind = Kind::Process;
  std::uint32_t program_bytes;
  std::uint32_t command_bytes;  // words separated by zeros
  std::int32_t rank;            // RANK of the environment; -1 = none
  std::uint32_t unused;
};

struct Driver {
  static constexpr Kind kKind = Kind::Driver;
  std::int32_t cuda_version;  // 13000
  std::int32_t devices;
  std::uint32_t release_bytes;  // the driver's own version, "580.159.04"
  std::uint32_t unused;
};

/// Of the context in which the first graph was instantiated.
struct Device {
  static constexpr Kind kKind = Kind::Device;
  std::int32_t capability_major;
  std::int32_t capability_minor;
  std::uint32_t name_bytes;
  std::uint32_t pci_bytes;  // "0000:1b:00.0"
};

/// A shared library that was found in the process, with the version it reports itself.
struct Library {
  static constexpr Kind kKind = Kind::Library;
  std::uint32_t path_bytes;
  std::uint32_t version_bytes;  // "13.5.1"; 0 = it reports none
};

/// Precedes the first other frame of a thread.
struct Thread {
  static constexpr Kind kKind = Kind::Thread;
  std::uint32_t name_bytes;
  std::uint32_t unused;
};

enum class MemoryKind : std::uint32_t {
  Device,
  Managed,
  PinnedHost,
  RegisteredHost,
  Pool,
  Mapped,
  Ipc
};

struct Allocation {
  static constexpr Kind kKind = Kind::Allocation;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t stream;  // 0 = not ordered by a stream
  std::uint64_t pool;    // CUmemoryPool; 0 = none or the device's default
  MemoryKind memory;
  std::uint32_t in_capture;  // of that stream: then it is a node of the graph, not an allocation
};

struct Release {
  static constexpr Kind kKind = Kind::Release;
  std::uint64_t address;
  std::uint64_t bytes;  // 0 = the whole allocation
  std::uint64_t stream;
  MemoryKind memory;
  std::uint32_t in_capture;
};

/// A piece of memory that PyTorch's caching allocator has handed out, inside an allocation. Only
/// those that lived when some capture began, who got their memory next, and those that were made
/// during a capture.
struct TensorBlock {
  static constexpr Kind kKind = Kind::TensorBlock;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t in_capture;  // made during one
  std::uint32_t listed;      // lived before this frame, whose time is not the allocation's
};

/// Device memory that had another hash than at the comparison before, or after a replay.
struct ChangedRange {
  static constexpr std::uint32_t kByProgram = 1;  // between two comparisons
  static constexpr std::uint32_t kByReplay = 2;
  static constexpr std::uint32_t kNew = 4;  // not hashed before
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t changed;
  std::uint32_t unused;
};
inline constexpr std::uint32_t kMostChangedRanges = 1U << 12;

/// The device's memory was hashed before and after this replay. The ranges follow.
struct ReplayCompared {
  static constexpr Kind kKind = Kind::ReplayCompared;
  std::uint64_t exec;
  std::uint64_t replay;  // counted from 1
  std::uint64_t bytes;   // that were hashed
  std::uint32_t ranges;
  std::uint32_t cut;  // not all memory, or not all ranges
};

/// No replay is compared from here on; without a call and with INVALID_CONTEXT, none of another
/// context than that of the first one.
struct ComparisonsStopped {
  static constexpr Kind kKind = Kind::ComparisonsStopped;
  // CUresult; NOT_READY = the stream did not become idle. Without a call: CONTEXT_IS_DESTROYED =
  // the context of the first comparison is gone.
  std::uint32_t result;
  std::uint32_t call_bytes;
};

/// Follows an instantiation where markers were asked for: behind each node of the graph's top level
/// a node writes a word when it has ended.
struct GraphMarked {
  static constexpr Kind kKind = Kind::GraphMarked;
  std::uint64_t graph;    // GraphBegan::graph
  std::uint32_t markers;  // 0 = the graph runs without them
  std::uint32_t result;   // then: 0 = the text says why; else that call gave this CUresult
  std::uint32_t why_bytes;
  std::uint32_t unused;
};

/// How far a replay has got that stood still while some thread waited. A bit for each node of the
/// graph's top level follows, in the order of their frames, lowest bits first: 1 = it has ended.
struct MarkerState {
  static constexpr Kind kKind = Kind::MarkerState;
  std::uint64_t graph;
  std::uint32_t nodes;  // 0 = that replay has moved on since
  std::uint32_t unused;
};

struct TensorBlockReleased {
  static constexpr Kind kKind = Kind::TensorBlockReleased;
  std::uint64_t address;
  std::uint32_t python_bytes;  // lines "file:line function", innermost first; 0 = not known
  std::uint32_t unused;
};

struct CaptureBegan {
  static constexpr Kind kKind = Kind::CaptureBegan;
  std::uint64_t stream;
  std::uint32_t mode;    // CUstreamCaptureMode
  std::uint32_t result;  // CUresult, as in all payloads
};

struct CaptureEnded {
  static constexpr Kind kKind = Kind::CaptureEnded;
  std::uint64_t stream;
  std::uint64_t graph;  // CUgraph; 0 = the capture failed
  std::uint32_t result;
  std::uint32_t unused;
};

/// A call that a capture does not allow, made while one was under way in any thread, or refused
/// with a capture's error.
struct Call {
  static constexpr Kind kKind = Kind::Call;
  std::uint32_t result;
  std::uint32_t name_bytes;
};

struct ParameterSlot {
  std::uint32_t offset;
  std::uint32_t bytes;
};

/// Whether a kernel waits for the one before it (griddepcontrol.wait).
enum class Waits : std::uint32_t { Unknown, No, Yes };

/// Precedes the first node that launches it. The slots follow the structure, then the name.
struct Function {
  static constexpr Kind kKind = Kind::Function;
  std::uint64_t function;  // CUfunction or CUkernel
  std::uint64_t module;    // CUmodule or CUlibrary; 0 = not known
  std::uint32_t slots;
  std::uint32_t name_bytes;  // mangled
  Waits waits;
  std::uint32_t unused;
};

enum class GraphReason : std::uint32_t { Instantiated, Updated };

/// Nodes and edges follow until GraphRead, from the same thread. An update replaces them.
struct GraphBegan {
  static constexpr Kind kKind = Kind::GraphBegan;
  std::uint64_t graph;   // counts instantiations from 1
  std::uint64_t exec;    // CUgraphExec
  std::uint64_t source;  // CUgraph
  GraphReason reason;
  std::uint32_t nodes;  // at its top level
};

struct Extent {
  std::uint32_t x;
  std::uint32_t y;
  std::uint32_t z;
};

struct KernelPayload {
  std::uint64_t function;
  Extent grid;
  Extent block;
  Extent cluster;  // 0 = none
  std::uint32_t shared_bytes;
  std::uint32_t cooperative;
  std::uint32_t argument_bytes;  // follow the node; 0 = not known
};

struct MemsetPayload {
  std::uint64_t address;
  std::uint64_t width;  // elements
  std::uint64_t height;
  std::uint64_t pitch;
  std::uint32_t value;
  std::uint32_t element_bytes;
};

enum class Space : std::uint32_t { Unknown, Device, PinnedHost, PageableHost, Managed };

struct MemcpyPayload {
  std::uint64_t source;  // 0 = an array or not known
  std::uint64_t target;
  std::uint64_t bytes;
  Space source_space;
  Space target_space;
};

struct MemoryPayload {
  std::uint64_t address;
  std::uint64_t bytes;  // of an allocation; 0 for a release
};

struct ConditionalPayload {
  std::uint32_t kind;    // CUgraphConditionalNodeType
  std::uint32_t bodies;  // whose nodes follow
};

struct Node {
  static constexpr Kind kKind = Kind::Node;
  std::uint64_t graph;
  std::uint64_t node;    // CUgraphNode
  std::int32_t index;    // counts the nodes of the graph from 0, children after their parent
  std::int32_t parent;   // index; -1 = top level
  std::uint32_t type;    // CUgraphNodeType
  std::uint32_t result;  // of reading its parameters: nonzero = they are not known
  union {
    KernelPayload kernel;
    MemsetPayload memset;
    MemcpyPayload memcpy;
    MemoryPayload memory;
    ConditionalPayload conditional;
  };
};

enum class EdgeType : std::uint32_t { Full, Programmatic, LaunchOrder };

struct Edge {
  std::int32_t from;  // indices of nodes with the same parent
  std::int32_t to;
  EdgeType type;
};

/// `count` edges follow.
struct Edges {
  static constexpr Kind kKind = Kind::Edges;
  std::uint64_t graph;
  std::uint32_t count;
  std::uint32_t unused;
};

struct GraphRead {
  static constexpr Kind kKind = Kind::GraphRead;
  std::uint64_t graph;
  std::uint32_t nodes;   // with those of child graphs
  std::uint32_t result;  // nonzero: what is missing could not be read
};

/// The executable graph's node got other parameters; the fields of `node` that describe its place
/// are not set.
struct NodeChanged {
  static constexpr Kind kKind = Kind::NodeChanged;
  std::uint64_t exec;
  Node node;
};

/// A call that changed an executable graph's node, and has no NodeChanged: what the node got is not
/// recorded.
struct NodeCall {
  static constexpr Kind kKind = Kind::NodeCall;
  std::uint64_t exec;
  std::uint64_t node;        // CUgraphNode
  std::uint32_t call_bytes;  // the runtime's name, "cudaGraphNodeSetEnabled (off)"
  std::uint32_t unused;
};

struct GraphDestroyed {
  static constexpr Kind kKind = Kind::GraphDestroyed;
  std::uint64_t exec;
  std::uint64_t launches;  // as its counter had them, which is free for another graph now
  std::uint64_t last_launch;
};

struct ModuleUnloaded {
  static constexpr Kind kKind = Kind::ModuleUnloaded;
  std::uint64_t module;  // CUmodule or CUlibrary
};

/// Precedes the first stack with this return address.
struct Address {
  static constexpr Kind kKind = Kind::Address;
  std::uint64_t address;
  std::uint64_t offset;  // in its module's file
  std::uint32_t module_bytes;
  std::uint32_t symbol_bytes;  // mangled; 0 = the module exports none there
};

/// Who captured a node. The addresses follow the structure, innermost first, then the Python stack:
/// a line "file:line function" for each frame, innermost first.
struct Stack {
  static constexpr Kind kKind = Kind::Stack;
  std::uint64_t node;  // CUgraphNode
  std::uint32_t addresses;
  std::uint32_t python_bytes;  // 0 = no Python, or none whose stack can be read
};

/// Of NCCL, when it was made.
struct Communicator {
  static constexpr Kind kKind = Kind::Communicator;
  std::uint64_t communicator;  // ncclComm_t
  std::int32_t ranks;          // 0 = not known
  std::int32_t rank;
};

/// A collective or a send was captured. Once for each communicator and capture, but for rare
/// repetitions.
struct CommunicatorCaptured {
  static constexpr Kind kKind = Kind::CommunicatorCaptured;
  std::uint64_t communicator;
  std::uint64_t graph;  // CUgraph that is being captured
};

enum class CommunicatorEnd : std::uint32_t { Finalize, Destroy, Abort };

/// Written before the call. A later communicator may have the same handle.
struct CommunicatorEnded {
  static constexpr Kind kKind = Kind::CommunicatorEnded;
  std::uint64_t communicator;
  CommunicatorEnd by;
  std::uint32_t unused;
};

/// Launches of a kernel outside of captures with the same arguments, written when a graph with that
/// kernel is read, behind its Function. The argument bytes follow.
struct EagerLaunch {
  static constexpr Kind kKind = Kind::EagerLaunch;
  std::uint64_t function;
  std::uint64_t first_seen;  // position
  std::uint64_t launches;    // so far
  Extent grid;
  Extent block;
  std::uint32_t shared_bytes;
  std::uint32_t argument_bytes;
};

/// The nodes with this parent that follow, up to the next such frame of it, are this body's.
struct Body {
  static constexpr Kind kKind = Kind::Body;
  std::uint64_t graph;
  std::int32_t parent;   // index of the conditional node
  std::uint32_t number;  // of the body, from 0
};

/// A tensor map (CUtensorMap) in the argument bytes of a node, whose own bytes do not show the
/// address. Follows the node's frame, from the same thread.
struct TensorMap {
  static constexpr Kind kKind = Kind::TensorMap;
  std::uint64_t graph;    // GraphBegan::graph, behind a Node; 0 = behind a NodeChanged
  std::uint64_t exec;     // of the NodeChanged
  std::uint64_t node;     // CUgraphNode
  std::uint64_t address;  // of the tensor
  std::uint64_t bytes;    // up to its end; 0 = not known
  std::uint32_t offset;   // of the map, in the argument bytes
  std::uint32_t unused;
};

static_assert(sizeof(FrameHeader) == 32 && sizeof(GraphCounter) == 40 && sizeof(Node) == 88);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace profiling::spool
