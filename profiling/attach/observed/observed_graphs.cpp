// Instantiated graphs: read node by node, updated, changed, destroyed.
#include "profiling/attach/observed/observed_process.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <utility>

#include "profiling/hazards/model/names.h"
#include "profiling/hazards/snapshot/accesses.h"
#include "profiling/hazards/snapshot/node_order.h"
#include "profiling/hazards/snapshot/segments.h"

namespace profiling {
namespace {

constexpr std::size_t kMostFunctions = 1 << 20;

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
Extent extent(const spool::Extent& from) { return {from.x, from.y, from.z}; }

/// The call that gives a node of this type (CUgraphNodeType) other parameters.
std::string_view call_of(std::uint32_t type) {
  switch (static_cast<NodeType>(type)) {
    case NodeType::Memset:
      return "cudaGraphExecMemsetNodeSetParams";
    case NodeType::Memcpy:
      return "cudaGraphExecMemcpyNodeSetParams";
    default:
      return "cudaGraphExecKernelNodeSetParams";
  }
}

EdgeKind edge_kind(spool::EdgeType type) {
  return type == spool::EdgeType::Programmatic  ? EdgeKind::Programmatic
         : type == spool::EdgeType::LaunchOrder ? EdgeKind::LaunchOrder
                                                : EdgeKind::Full;
}
}  // namespace

void ObservedProcess::take_function(const SpoolFrame& frame) {
  spool::Function function{};
  if (!frame.read(function) || functions_.size() >= kMostFunctions) return;
  Function known;
  known.module = function.module;
  known.waits = function.waits == spool::Waits::Yes  ? Known::Yes
                : function.waits == spool::Waits::No ? Known::No
                                                     : Known::Unknown;
  const std::size_t slot_bytes = std::size_t{function.slots} * sizeof(spool::ParameterSlot);
  const std::span<const std::byte> slots = frame.after(sizeof function, 0, slot_bytes);
  if (slots.size() != slot_bytes) return;
  for (std::size_t at = 0; at < slots.size(); at += sizeof(spool::ParameterSlot)) {
    spool::ParameterSlot slot{};
    std::memcpy(&slot, slots.data() + at, sizeof slot);
    known.slots.push_back({.offset = slot.offset, .bytes = slot.bytes});
  }
  known.name = frame.text_after(sizeof function, slot_bytes, function.name_bytes);
  Function& place = functions_[function.function];
  // The same kernel is introduced again after some module was unloaded.
  const bool same = place.code != 0 && place.name == known.name && place.module == known.module &&
                    place.slots == known.slots;
  known.code = same ? place.code : ++codes_;
  known.eager_launches = same ? place.eager_launches : 0;
  place = std::move(known);
}

ObservedGraph* ObservedProcess::find(std::uint64_t number) {
  const auto found = graphs_.find(number);
  return found == graphs_.end() ? nullptr : &found->second;
}

const ObservedGraph* ObservedProcess::find(std::uint64_t number) const {
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
  graph.communicators.clear();
  graph.complete = false;
  graph.updated = began.reason == spool::GraphReason::Updated;
  graph.bodies.clear();
  graph.listed.clear();
  graph.replay = {};
  GraphSnapshot& snapshot = graph.graph;
  const std::int64_t launches = snapshot.launches;
  const std::uint64_t last_launch = snapshot.last_launch;
  snapshot = {};
  snapshot.name = graph_name(began.graph);
  snapshot.capture_began = snapshot.capture_ended = frame.position;
  snapshot.launches = began.reason == spool::GraphReason::Updated ? launches : 0;
  snapshot.last_launch = began.reason == spool::GraphReason::Updated ? last_launch : 0;
  if (const auto capture = captures_.find(began.source); capture != captures_.end()) {
    // A graph may be instantiated several times: the first one has what its capture made.
    name_owner(capture->second, snapshot.name);
    capture->second.made.clear();
    snapshot.capture_began = capture->second.began;
    snapshot.capture_ended = capture->second.ended;
    snapshot.events = capture->second.events;
    for (const ObservedCommunicator& one : capture->second.communicators) {
      snapshot.communicators.push_back(one.shown);
      graph.communicators.push_back(one.handle);
    }
  }
  if (graph.updated) note_update(graph, frame, "cudaGraphExecUpdate", 0);
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
        kernel.code = known->second.code;
        kernel.waits_for_programmatic = known->second.waits;
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
    case NodeType::Conditional:
      if (from.conditional.kind > static_cast<std::uint32_t>(Condition::Switch)) return;
      to.parameters = ConditionalNode{.condition = static_cast<Condition>(from.conditional.kind),
                                      .bodies = from.conditional.bodies};
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
  if (const auto body = graph->bodies.find(node.parent); body != graph->bodies.end())
    to.body = body->second;
  if (const auto stack = stacks_.find(node.node); stack != stacks_.end())
    to.captured_at = stack->second;
  const std::size_t bytes = node.type == 0 ? node.kernel.argument_bytes : 0;
  fill_node(node, frame.after(sizeof node, 0, bytes), to, graph->modules.back());
  if (auto* kernel = std::get_if<KernelNode>(&to.parameters)) kernel->updated = graph->updated;
}

void ObservedProcess::take_body(const SpoolFrame& frame) {
  spool::Body body{};
  if (!frame.read(body) || body.number >= engine::kMaxGraphNodes) return;
  ObservedGraph* graph = find(body.graph);
  if (graph == nullptr || graph->complete || body.parent < 0 ||
      static_cast<std::size_t>(body.parent) >= graph->handles.size())
    return;
  graph->bodies[body.parent] = static_cast<int>(body.number);
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

/// False: some nodes wait for each other, which no graph's do.
bool reorder(ObservedGraph& observed) {
  GraphSnapshot& graph = observed.graph;
  const std::vector<int> order = listed_order(graph);
  if (order.size() != graph.nodes.size()) return false;
  std::vector<int> place(graph.nodes.size(), -1);
  for (std::size_t at = 0; at < order.size(); ++at)
    place[static_cast<std::size_t>(order[at])] = static_cast<int>(at);
  observed.listed.clear();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].parent == -1) observed.listed.push_back(place[n]);
  }
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
  return true;
}

}  // namespace

void ObservedProcess::take_graph_read(const SpoolFrame& frame) {
  spool::GraphRead read{};
  if (!frame.read(read)) return;
  ObservedGraph* graph = find(read.graph);
  if (graph == nullptr || graph->complete) return;
  if (read.nodes != graph->graph.nodes.size()) return;  // frames were lost
  graph->complete = reorder(*graph);
}

void ObservedProcess::take_change(const SpoolFrame& frame) {
  spool::NodeChanged changed{};
  if (!frame.read(changed)) return;
  const auto number = of_exec_.find(changed.exec);
  ObservedGraph* graph = number == of_exec_.end() ? nullptr : find(number->second);
  if (graph == nullptr) return;
  note_update(*graph, frame, call_of(changed.node.type), changed.node.node);
  if (!graph->complete) return;
  const auto handle = std::ranges::find(graph->handles, changed.node.node);
  if (handle == graph->handles.end()) return;
  const auto index = static_cast<std::size_t>(handle - graph->handles.begin());
  const std::size_t bytes = changed.node.type == 0 ? changed.node.kernel.argument_bytes : 0;
  SnapshotNode& node = graph->graph.nodes[index];
  fill_node(changed.node, frame.after(sizeof changed, 0, bytes), node, graph->modules[index]);
  if (auto* kernel = std::get_if<KernelNode>(&node.parameters)) kernel->updated = true;
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
    const Segments segments(ledger_);
    const auto gone = [&](std::uint64_t since) {
      return since != 0 && since < destroyed.last_launch;
    };
    const bool released = std::ranges::any_of(touches, [&](const Touch& touch) {
      if (touch.allocation < 0) return false;
      const int behind = segments.behind(touch.allocation);
      const engine::Allocation& block = ledger_[static_cast<std::size_t>(behind)];
      return !block.live() && block.freed_at > graph->graph.capture_began && gone(block.freed_at) &&
             !kept_by_pool(block);
    });
    const bool unloaded = std::ranges::any_of(graph->graph.nodes, [&](const SnapshotNode& node) {
      const auto* kernel = std::get_if<KernelNode>(&node.parameters);
      return kernel != nullptr && gone(kernel->unloaded_at);
    });
    const bool disconnected =
        std::ranges::any_of(graph->graph.communicators, gone, &CapturedCommunicator::ended_at);
    graph->graph.over = !released && !unloaded && !disconnected;
    graph->graph.destroyed_at = frame.position;
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
}  // namespace profiling
