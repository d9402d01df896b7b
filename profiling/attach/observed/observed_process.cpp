#include "profiling/attach/observed/observed_process.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/model/path_text.h"
#include "profiling/attach/observed/stack_words.h"
#include "profiling/hazards/model/names.h"
#include "profiling/hazards/snapshot/accesses.h"
#include "profiling/hazards/snapshot/node_order.h"

namespace profiling {
namespace {

using engine::file_name;

constexpr std::size_t kMostLedger = 400'000;  // then what was released long ago goes
constexpr std::size_t kMostEvents = 1000;     // of one capture
constexpr std::size_t kMostFailures = 100;    // captures that failed
constexpr std::size_t kMostLibraries = 4096;
constexpr std::size_t kMostFunctions = 1 << 20;
constexpr std::size_t kMostOpenCaptures = 4096;
constexpr std::size_t kMostStacks = 1 << 18;

/// The word that people know a program by: the first one after an interpreter that is no option,
/// else the program.
std::string program_name(std::string_view command) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < command.size() && words.size() < 64;) {
    const std::size_t end = std::min(command.find('\0', at), command.size());
    if (end > at) words.push_back(command.substr(at, end - at));
    at = end + 1;
  }
  if (words.empty()) return {};
  const std::string_view program = file_name(words.front());
  if (program.starts_with("python")) {
    for (std::size_t w = 1; w < words.size(); ++w) {
      if (words[w] == "-m" && w + 1 < words.size()) return std::string(words[w + 1]);
      if (!words[w].starts_with('-')) return std::string(file_name(words[w]));
      if (words[w] == "-c") break;
    }
  }
  return std::string(program);
}

engine::MemorySpace space_of(spool::MemoryKind memory) {
  switch (memory) {
    case spool::MemoryKind::Managed:
      return engine::MemorySpace::Managed;
    case spool::MemoryKind::PinnedHost:
    case spool::MemoryKind::RegisteredHost:
      return engine::MemorySpace::PinnedHost;
    default:
      return engine::MemorySpace::Device;
  }
}

engine::MemorySpace space_of(spool::Space space) {
  switch (space) {
    case spool::Space::Device:
      return engine::MemorySpace::Device;
    case spool::Space::PinnedHost:
      return engine::MemorySpace::PinnedHost;
    case spool::Space::PageableHost:
      return engine::MemorySpace::PageableHost;
    case spool::Space::Managed:
      return engine::MemorySpace::Managed;
    default:
      return engine::MemorySpace::Unknown;
  }
}

/// The call that a program makes for such memory.
std::string_view call_of(spool::MemoryKind memory) {
  switch (memory) {
    case spool::MemoryKind::Managed:
      return "cudaMallocManaged";
    case spool::MemoryKind::PinnedHost:
      return "cudaMallocHost";
    case spool::MemoryKind::RegisteredHost:
      return "cudaHostRegister";
    case spool::MemoryKind::Pool:
      return "cudaMallocAsync";
    case spool::MemoryKind::Mapped:
      return "cuMemMap";
    case spool::MemoryKind::Ipc:
      return "cudaIpcOpenMemHandle";
    default:
      return "cudaMalloc";
  }
}

Extent extent(const spool::Extent& from) { return {from.x, from.y, from.z}; }

EdgeKind edge_kind(spool::EdgeType type) {
  return type == spool::EdgeType::Programmatic  ? EdgeKind::Programmatic
         : type == spool::EdgeType::LaunchOrder ? EdgeKind::LaunchOrder
                                                : EdgeKind::Full;
}

/// Of the call's name; none = a query, which only matters if it was refused.
std::optional<CaptureEvent::Kind> kind_of_call(std::string_view name, std::uint32_t result) {
  using Kind = CaptureEvent::Kind;
  if (name.find("Alloc") != std::string_view::npos ||
      name.find("Register") != std::string_view::npos ||
      name.find("OpenMem") != std::string_view::npos) {
    return Kind::Allocation;
  }
  if (name.find("Free") != std::string_view::npos ||
      name.find("Unregister") != std::string_view::npos ||
      name.find("Unmap") != std::string_view::npos ||
      name.find("CloseMem") != std::string_view::npos) {
    return Kind::Release;
  }
  if (name.find("Query") != std::string_view::npos && result == 0) return std::nullopt;
  return Kind::HostSync;
}

}  // namespace

std::string_view capture_error_name(std::uint32_t code) {
  constexpr std::array<std::string_view, 9> kNames = {
      "cudaErrorStreamCaptureUnsupported", "cudaErrorStreamCaptureInvalidated",
      "cudaErrorStreamCaptureMerge",       "cudaErrorStreamCaptureUnmatched",
      "cudaErrorStreamCaptureUnjoined",    "cudaErrorStreamCaptureIsolation",
      "cudaErrorStreamCaptureImplicit",    "cudaErrorCapturedEvent",
      "cudaErrorStreamCaptureWrongThread"};
  constexpr std::uint32_t kFirst = 900;
  return code >= kFirst && code - kFirst < kNames.size() ? kNames[code - kFirst]
                                                         : std::string_view();
}

std::string graph_name(std::uint64_t number) { return fmt::format("graph {}", number); }

std::string ObservedProcess::title() const {
  const std::string name = program_.empty() ? "a program" : program_;
  const std::string rank = rank_ < 0 ? "" : fmt::format(", rank {}", rank_);
  return fmt::format("{} (process {}{})", name, process_, rank);
}

std::string ObservedProcess::thread_text(std::uint32_t thread) const {
  const auto known = threads_.find(thread);
  return known == threads_.end() ? fmt::format("thread {}", thread)
                                 : fmt::format("thread {} \"{}\"", thread, known->second);
}

void ObservedProcess::take(const SpoolFrame& frame) {
  clock_ = std::max(clock_, frame.position);
  switch (frame.kind) {
    case spool::Kind::Process:
      return take_process(frame);
    case spool::Kind::Driver:
      return take_driver(frame);
    case spool::Kind::Device:
      return take_device(frame);
    case spool::Kind::Library:
      return take_library(frame);
    case spool::Kind::Thread:
      return take_thread(frame);
    case spool::Kind::Allocation:
      return take_allocation(frame);
    case spool::Kind::Release:
      return take_release(frame);
    case spool::Kind::CaptureBegan:
      return take_capture_began(frame);
    case spool::Kind::CaptureEnded:
      return take_capture_ended(frame);
    case spool::Kind::Call:
      return take_call(frame);
    case spool::Kind::Function:
      return take_function(frame);
    case spool::Kind::GraphBegan:
      return take_graph_began(frame);
    case spool::Kind::Node:
      return take_node(frame);
    case spool::Kind::Edges:
      return take_edges(frame);
    case spool::Kind::GraphRead:
      return take_graph_read(frame);
    case spool::Kind::NodeChanged:
      return take_change(frame);
    case spool::Kind::GraphDestroyed:
      return take_destroyed(frame);
    case spool::Kind::ModuleUnloaded:
      return take_unloaded(frame);
    case spool::Kind::Address:
      return take_address(frame);
    case spool::Kind::Stack:
      return take_stack(frame);
  }
}

void ObservedProcess::take(const SpoolState& state) {
  process_ = state.process;
  lost_frames_ = state.lost_frames;
  launches_ = launches_of_destroyed_;
  for (const GraphLaunches& counted : state.graphs) {
    launches_ += counted.launches;
    ObservedGraph* graph = find(counted.graph);
    if (graph == nullptr || graph->exec != counted.exec) continue;
    graph->graph.launches =
        static_cast<std::int64_t>(std::min<std::uint64_t>(counted.launches, 1ULL << 62));
    graph->graph.last_launch = counted.last_launch;
  }
}

// ---- The process -------------------------------------------------------------------------------

void ObservedProcess::take_process(const SpoolFrame& frame) {
  spool::Process process{};
  if (!frame.read(process)) return;
  rank_ = std::max(process.rank, -1);
  program_ =
      program_name(frame.text_after(sizeof process, process.program_bytes, process.command_bytes));
}

void ObservedProcess::take_driver(const SpoolFrame& frame) {
  spool::Driver driver{};
  if (frame.read(driver)) driver_ = frame.text_after(sizeof driver, 0, driver.release_bytes);
}

void ObservedProcess::take_device(const SpoolFrame& frame) {
  spool::Device device{};
  if (!frame.read(device)) return;
  device_ = frame.text_after(sizeof device, 0, device.name_bytes);
  pci_bus_id_ = frame.text_after(sizeof device, device.name_bytes, device.pci_bytes);
  compute_capability_ = fmt::format("{}.{}", device.capability_major, device.capability_minor);
}

void ObservedProcess::take_library(const SpoolFrame& frame) {
  spool::Library library{};
  if (!frame.read(library) || libraries_.size() >= kMostLibraries) return;
  libraries_.push_back(
      {.path = std::string(frame.text_after(sizeof library, 0, library.path_bytes)),
       .version = std::string(
           frame.text_after(sizeof library, library.path_bytes, library.version_bytes))});
}

void ObservedProcess::take_thread(const SpoolFrame& frame) {
  spool::Thread thread{};
  if (frame.read(thread))
    threads_[frame.thread] = frame.text_after(sizeof thread, 0, thread.name_bytes);
}

// ---- Memory ------------------------------------------------------------------------------------

void ObservedProcess::take_allocation(const SpoolFrame& frame) {
  spool::Allocation made{};
  // Memory that a captured call allocates is the graph's own; its nodes say so.
  if (!frame.read(made) || made.in_capture != 0 || made.address == 0) return;
  if (made.bytes > ~made.address) return;
  release(made.address,
          frame.position);  // a release that was not seen: the address has a new owner
  if (ledger_.size() >= kMostLedger) forget_oldest();
  const std::uint64_t id = ledger_.empty() ? 1 : ledger_.back().id + 1;
  ledger_.push_back({.id = id,
                     .address = made.address,
                     .bytes = made.bytes,
                     .space = space_of(made.memory),
                     .role = engine::AllocationRole::Unknown,
                     .owner = fmt::format("{} {}", call_of(made.memory), id),
                     .allocated_at = frame.position,
                     .freed_at = 0});
  live_[made.address] = ledger_.size() - 1;
}

void ObservedProcess::take_release(const SpoolFrame& frame) {
  spool::Release released{};
  if (!frame.read(released) || released.in_capture != 0) return;
  if (released.bytes == 0) return release(released.address, frame.position);
  // One call may unmap several neighbouring blocks.
  auto block = live_.lower_bound(released.address);
  while (block != live_.end() && block->first - released.address < released.bytes) {
    ledger_[block->second].freed_at = frame.position;
    block = live_.erase(block);
  }
}

void ObservedProcess::release(std::uint64_t address, std::uint64_t position) {
  const auto block = live_.find(address);
  if (block == live_.end()) return;
  ledger_[block->second].freed_at = position;
  live_.erase(block);
}

void ObservedProcess::forget_oldest() {
  // The older half of what was released goes: a graph that still used it would have been found by
  // now.
  std::size_t released = ledger_.size() - live_.size();
  std::vector<engine::Allocation> kept;
  live_.clear();
  std::size_t to_forget = released / 2;
  for (engine::Allocation& block : ledger_) {
    if (!block.live() && to_forget > 0) {
      --to_forget;
      continue;
    }
    if (block.live()) live_[block.address] = kept.size();
    kept.push_back(std::move(block));
  }
  ledger_ = std::move(kept);
}

// ---- Captures ----------------------------------------------------------------------------------

void ObservedProcess::take_capture_began(const SpoolFrame& frame) {
  spool::CaptureBegan began{};
  if (!frame.read(began) || began.result != 0 || open_captures_.size() >= kMostOpenCaptures) return;
  open_captures_[began.stream] = {.began = frame.position,
                                  .ended = 0,
                                  .thread = frame.thread,
                                  .mode = began.mode,
                                  .events = {}};
}

void ObservedProcess::take_capture_ended(const SpoolFrame& frame) {
  spool::CaptureEnded ended{};
  if (!frame.read(ended)) return;
  const auto open = open_captures_.find(ended.stream);
  if (open == open_captures_.end()) return;
  Capture capture = std::move(open->second);
  open_captures_.erase(open);
  capture.ended = frame.position;
  ++captures_made_;
  if (ended.result == 0) {
    if (captures_.size() < kMostOpenCaptures || captures_.contains(ended.graph)) {
      captures_[ended.graph] = std::move(capture);
    }
    return;
  }
  if (failed_captures_.size() >= kMostFailures) return;
  GraphSnapshot failed;
  failed.name = fmt::format("capture {}", captures_made_);
  failed.capture_began = capture.began;
  failed.capture_ended = capture.ended;
  failed.failure = {.code = static_cast<int>(std::min<std::uint32_t>(ended.result, 1 << 20)),
                    .name = std::string(capture_error_name(ended.result)),
                    .call = fmt::format("cuStreamEndCapture by {}", thread_text(capture.thread))};
  failed.events = std::move(capture.events);
  failed_captures_.push_back(std::move(failed));
}

void ObservedProcess::take_call(const SpoolFrame& frame) {
  spool::Call call{};
  if (!frame.read(call)) return;
  const std::string_view name = frame.text_after(sizeof call, 0, call.name_bytes);
  const std::optional<CaptureEvent::Kind> kind = kind_of_call(name, call.result);
  if (!kind) return;
  constexpr std::uint32_t kGlobal =
      0;  // CU_STREAM_CAPTURE_MODE_GLOBAL: no thread may make such a call
  for (auto& [stream, capture] : open_captures_) {
    const bool own = capture.thread == frame.thread;
    if ((!own && capture.mode != kGlobal) || capture.events.size() >= kMostEvents) continue;
    capture.events.push_back(
        {.kind = *kind,
         .what = std::string(name),
         .code = static_cast<int>(std::min<std::uint32_t>(call.result, 1 << 20)),
         .other_thread = own ? "" : thread_text(frame.thread)});
  }
}

// ---- Graphs ------------------------------------------------------------------------------------

void ObservedProcess::take_function(const SpoolFrame& frame) {
  spool::Function function{};
  if (!frame.read(function) || functions_.size() >= kMostFunctions) return;
  Function known;
  known.module = function.module;
  const std::size_t slot_bytes = std::size_t{function.slots} * sizeof(spool::ParameterSlot);
  const std::span<const std::byte> slots = frame.after(sizeof function, 0, slot_bytes);
  if (slots.size() != slot_bytes) return;
  for (std::size_t at = 0; at < slots.size(); at += sizeof(spool::ParameterSlot)) {
    spool::ParameterSlot slot{};
    std::memcpy(&slot, slots.data() + at, sizeof slot);
    known.slots.push_back({.offset = slot.offset, .bytes = slot.bytes});
  }
  known.name = frame.text_after(sizeof function, slot_bytes, function.name_bytes);
  functions_[function.function] = std::move(known);
}

ObservedGraph* ObservedProcess::find(std::uint64_t number) {
  const auto found = graphs_.find(number);
  return found == graphs_.end() ? nullptr : &found->second;
}

void ObservedProcess::take_graph_began(const SpoolFrame& frame) {
  spool::GraphBegan began{};
  if (!frame.read(began)) return;
  // A program may instantiate without end; then what is newest is what people look for.
  if (graphs_.size() >= kMaxSnapshotGraphs && !graphs_.contains(began.graph)) {
    const auto over =
        std::ranges::find_if(graphs_, [](const auto& one) { return one.second.graph.over; });
    const auto dropped = over == graphs_.end() ? graphs_.begin() : over;
    if (!dropped->second.graph.over) of_exec_.erase(dropped->second.exec);
    graphs_.erase(dropped);
  }
  ObservedGraph& graph = graphs_[began.graph];
  graph.number = began.graph;
  graph.exec = began.exec;
  graph.handles.clear();
  graph.modules.clear();
  graph.complete = false;
  GraphSnapshot& snapshot = graph.graph;
  const std::int64_t launches = snapshot.launches;
  const std::uint64_t last_launch = snapshot.last_launch;
  snapshot = {};
  snapshot.name = graph_name(began.graph);
  snapshot.capture_began = snapshot.capture_ended = frame.position;
  snapshot.launches = began.reason == spool::GraphReason::Updated ? launches : 0;
  snapshot.last_launch = began.reason == spool::GraphReason::Updated ? last_launch : 0;
  if (const auto capture = captures_.find(began.source); capture != captures_.end()) {
    snapshot.capture_began = capture->second.began;
    snapshot.capture_ended = capture->second.ended;
    snapshot.events = capture->second.events;
  }
  of_exec_[began.exec] = began.graph;
  graphs_seen_ = std::max(graphs_seen_, began.graph);
}

void ObservedProcess::fill_node(const spool::Node& from, std::span<const std::byte> rest,
                                SnapshotNode& to, std::uint64_t& module) const {
  constexpr std::uint32_t kLast = static_cast<std::uint32_t>(NodeType::Conditional);
  to.type = from.type <= kLast ? static_cast<NodeType>(from.type) : NodeType::Unknown;
  to.name = name_of(to.type);
  to.parameters = {};
  module = 0;
  if (from.result != 0) return;
  switch (to.type) {
    case NodeType::Kernel: {
      KernelNode kernel;
      kernel.grid = extent(from.kernel.grid);
      kernel.block = extent(from.kernel.block);
      kernel.cluster = from.kernel.cluster.x == 0 ? Extent() : extent(from.kernel.cluster);
      kernel.dynamic_shared_bytes = from.kernel.shared_bytes;
      kernel.cooperative = from.kernel.cooperative != 0;
      const std::size_t bytes =
          std::min<std::size_t>({from.kernel.argument_bytes, rest.size(), kMaxParameterBytes});
      kernel.parameters.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(bytes));
      if (const auto known = functions_.find(from.kernel.function); known != functions_.end()) {
        kernel.function = known->second.name;
        to.name = readable_kernel_name(kernel.function.c_str());
        module = known->second.module;
        const auto& slots = known->second.slots;
        const bool fits =
            slots.size() <= kMaxSlots && !kernel.parameters.empty() &&
            std::ranges::all_of(slots, [&](const ParameterSlot& slot) {
              return std::uint64_t{slot.offset} + slot.bytes <= kernel.parameters.size();
            });
        if (fits && std::ranges::is_sorted(slots, {}, &ParameterSlot::offset)) kernel.slots = slots;
      }
      to.parameters = std::move(kernel);
      return;
    }
    case NodeType::Memset:
      to.parameters = MemsetNode{.address = from.memset.address,
                                 .value = from.memset.value,
                                 .element_bytes = from.memset.element_bytes,
                                 .width = from.memset.width,
                                 .height = from.memset.height,
                                 .pitch = from.memset.pitch};
      return;
    case NodeType::Memcpy:
      to.parameters = MemcpyNode{.source_space = space_of(from.memcpy.source_space),
                                 .target_space = space_of(from.memcpy.target_space),
                                 .source = from.memcpy.source,
                                 .target = from.memcpy.target,
                                 .bytes = from.memcpy.bytes};
      return;
    case NodeType::MemAlloc:
      to.parameters = MemAllocNode{.address = from.memory.address, .bytes = from.memory.bytes};
      return;
    case NodeType::MemFree:
      to.parameters = MemFreeNode{.address = from.memory.address};
      return;
    default:
      return;
  }
}

void ObservedProcess::take_node(const SpoolFrame& frame) {
  spool::Node node{};
  if (!frame.read(node)) return;
  ObservedGraph* graph = find(node.graph);
  if (graph == nullptr || graph->complete) return;
  const std::size_t count = graph->handles.size();
  // In the order of their indices: anything else is damaged, and the graph stays incomplete.
  if (node.index < 0 || static_cast<std::size_t>(node.index) != count ||
      count >= engine::kMaxGraphNodes)
    return;
  if (node.parent < -1 || node.parent >= node.index) return;
  SnapshotNode& to = graph->graph.nodes.emplace_back();
  graph->handles.push_back(node.node);
  graph->modules.push_back(0);
  to.parent = node.parent;
  if (const auto stack = stacks_.find(node.node); stack != stacks_.end())
    to.captured_at = stack->second;
  const std::size_t bytes = node.type == 0 ? node.kernel.argument_bytes : 0;
  fill_node(node, frame.after(sizeof node, 0, bytes), to, graph->modules.back());
}

void ObservedProcess::take_edges(const SpoolFrame& frame) {
  spool::Edges edges{};
  if (!frame.read(edges)) return;
  ObservedGraph* graph = find(edges.graph);
  if (graph == nullptr || graph->complete) return;
  const std::span<const std::byte> list =
      frame.after(sizeof edges, 0, std::size_t{edges.count} * sizeof(spool::Edge));
  const std::vector<SnapshotNode>& nodes = graph->graph.nodes;
  for (std::size_t at = 0; at < list.size(); at += sizeof(spool::Edge)) {
    spool::Edge edge{};
    std::memcpy(&edge, list.data() + at, sizeof edge);
    const auto valid = [&](std::int32_t index) {
      return index >= 0 && static_cast<std::size_t>(index) < nodes.size();
    };
    if (!valid(edge.from) || !valid(edge.to) || edge.from == edge.to ||
        nodes[static_cast<std::size_t>(edge.from)].parent !=
            nodes[static_cast<std::size_t>(edge.to)].parent ||
        graph->graph.edges.size() >= engine::kMaxGraphEdges) {
      continue;
    }
    graph->graph.edges.push_back({.from = edge.from, .to = edge.to, .kind = edge_kind(edge.type)});
  }
}

namespace {

/// Nodes after those they depend on, children behind their parent.
std::vector<int> listed_order(const GraphSnapshot& graph) {
  std::map<int, std::vector<int>> levels;  // parent -> its nodes
  std::vector<std::size_t> place(graph.nodes.size());
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
    std::vector<int>& level = levels[graph.nodes[static_cast<std::size_t>(n)].parent];
    place[static_cast<std::size_t>(n)] = level.size();
    level.push_back(n);
  }
  std::map<int, std::vector<std::pair<std::size_t, std::size_t>>> edges;
  for (const SnapshotEdge& edge : graph.edges) {
    const int parent = graph.nodes[static_cast<std::size_t>(edge.from)].parent;
    edges[parent].emplace_back(place[static_cast<std::size_t>(edge.from)],
                               place[static_cast<std::size_t>(edge.to)]);
  }
  for (auto& [parent, level] : levels) {
    std::vector<int> sorted;
    for (const std::size_t at : dependency_order(level.size(), edges[parent]))
      sorted.push_back(level[at]);
    level = std::move(sorted);
  }
  std::vector<int> order;
  std::vector<int> open(levels[-1].rbegin(), levels[-1].rend());
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    order.push_back(node);
    if (const auto children = levels.find(node); children != levels.end()) {
      open.insert(open.end(), children->second.rbegin(), children->second.rend());
    }
  }
  return order;
}

void reorder(ObservedGraph& observed) {
  GraphSnapshot& graph = observed.graph;
  const std::vector<int> order = listed_order(graph);
  std::vector<int> place(graph.nodes.size(), -1);
  for (std::size_t at = 0; at < order.size(); ++at)
    place[static_cast<std::size_t>(order[at])] = static_cast<int>(at);
  std::vector<SnapshotNode> nodes;
  std::vector<std::uint64_t> handles;
  std::vector<std::uint64_t> modules;
  for (const int from : order) {
    SnapshotNode& node = nodes.emplace_back(std::move(graph.nodes[static_cast<std::size_t>(from)]));
    if (node.parent >= 0) node.parent = place[static_cast<std::size_t>(node.parent)];
    handles.push_back(observed.handles[static_cast<std::size_t>(from)]);
    modules.push_back(observed.modules[static_cast<std::size_t>(from)]);
  }
  std::erase_if(graph.edges, [&](SnapshotEdge& edge) {
    edge.from = place[static_cast<std::size_t>(edge.from)];
    edge.to = place[static_cast<std::size_t>(edge.to)];
    return edge.from < 0 || edge.to < 0 || edge.from >= edge.to;
  });
  graph.nodes = std::move(nodes);
  observed.handles = std::move(handles);
  observed.modules = std::move(modules);
}

}  // namespace

void ObservedProcess::take_graph_read(const SpoolFrame& frame) {
  spool::GraphRead read{};
  if (!frame.read(read)) return;
  ObservedGraph* graph = find(read.graph);
  if (graph == nullptr || graph->complete) return;
  if (read.nodes != graph->graph.nodes.size()) return;  // frames were lost
  graph->complete = true;
  reorder(*graph);
}

void ObservedProcess::take_change(const SpoolFrame& frame) {
  spool::NodeChanged changed{};
  if (!frame.read(changed)) return;
  const auto number = of_exec_.find(changed.exec);
  ObservedGraph* graph = number == of_exec_.end() ? nullptr : find(number->second);
  if (graph == nullptr || !graph->complete) return;
  const auto handle = std::ranges::find(graph->handles, changed.node.node);
  if (handle == graph->handles.end()) return;
  const auto index = static_cast<std::size_t>(handle - graph->handles.begin());
  const std::size_t bytes = changed.node.type == 0 ? changed.node.kernel.argument_bytes : 0;
  fill_node(changed.node, frame.after(sizeof changed, 0, bytes), graph->graph.nodes[index],
            graph->modules[index]);
}

void ObservedProcess::take_destroyed(const SpoolFrame& frame) {
  spool::GraphDestroyed destroyed{};
  if (!frame.read(destroyed)) return;
  const auto number = of_exec_.find(destroyed.exec);
  if (number == of_exec_.end()) return;
  launches_of_destroyed_ += destroyed.launches;
  ObservedGraph* graph = find(number->second);
  if (graph != nullptr) {
    graph->graph.launches =
        static_cast<std::int64_t>(std::min<std::uint64_t>(destroyed.launches, 1ULL << 62));
    graph->graph.last_launch = destroyed.last_launch;
    // What it did is over; it matters only if it was launched after something that it uses was
    // gone.
    Snapshot alone;
    alone.ledger = ledger_;
    alone.graphs.push_back(graph->graph);
    const std::vector<Touch> touches = find_touches(alone, alone.graphs.front());
    const bool matters = std::ranges::any_of(touches, [&](const Touch& touch) {
      if (touch.allocation < 0) return false;
      const engine::Allocation& block = ledger_[static_cast<std::size_t>(touch.allocation)];
      return !block.live() && block.freed_at > graph->graph.capture_began &&
             block.freed_at < destroyed.last_launch;
    });
    graph->graph.over = !matters;
  }
  of_exec_.erase(number);
}

void ObservedProcess::take_unloaded(const SpoolFrame& frame) {
  spool::ModuleUnloaded unloaded{};
  if (!frame.read(unloaded) || unloaded.module == 0) return;
  for (auto& [number, graph] : graphs_) {
    for (std::size_t node = 0; node < graph.modules.size(); ++node) {
      if (graph.modules[node] != unloaded.module) continue;
      graph.modules[node] = 0;
      if (auto* kernel = std::get_if<KernelNode>(&graph.graph.nodes[node].parameters)) {
        kernel->unloaded_at = frame.position;
      }
    }
  }
  std::erase_if(functions_,
                [&](const auto& known) { return known.second.module == unloaded.module; });
}

// ---- Stacks ------------------------------------------------------------------------------------

void ObservedProcess::take_address(const SpoolFrame& frame) {
  spool::Address address{};
  if (!frame.read(address) || addresses_.size() >= kMostStacks) return;
  addresses_[address.address] = native_call(
      frame.text_after(sizeof address, 0, address.module_bytes),
      frame.text_after(sizeof address, address.module_bytes, address.symbol_bytes), address.offset);
}

void ObservedProcess::take_stack(const SpoolFrame& frame) {
  spool::Stack stack{};
  if (!frame.read(stack)) return;
  if (stacks_.size() >= kMostStacks)
    stacks_.clear();  // of captures whose graphs were read long ago
  const std::size_t address_bytes = std::size_t{stack.addresses} * sizeof(std::uint64_t);
  std::string words =
      python_words(frame.text_after(sizeof stack, address_bytes, stack.python_bytes));
  if (words.empty()) {
    std::vector<std::string> calls;
    const std::span<const std::byte> addresses = frame.after(sizeof stack, 0, address_bytes);
    for (std::size_t at = 0; at < addresses.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t address = 0;
      std::memcpy(&address, addresses.data() + at, sizeof address);
      if (const auto known = addresses_.find(address); known != addresses_.end())
        calls.push_back(known->second);
    }
    words = native_words(calls);
  }
  stacks_[stack.node] = std::move(words);
}

}  // namespace profiling
