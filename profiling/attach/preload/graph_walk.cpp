#include "profiling/attach/preload/graph_walk.h"

#include <atomic>
#include <new>

#include "profiling/attach/preload/conditional_nodes.h"
#include "profiling/attach/preload/eager_launches.h"
#include "profiling/attach/preload/handle_index.h"
#include "profiling/attach/preload/kernel_arguments.h"
#include "profiling/attach/preload/scratch.h"
#include "profiling/attach/preload/spool_file.h"
#include "profiling/attach/preload/tensor_maps.h"
#include "profiling/attach/preload/waiting_kernels.h"

namespace attach {
namespace {

// ---- Functions ---------------------------------------------------------------------------------

// A set of the functions that have frames. One that finds no room gets a frame for each node.
constinit std::atomic<std::uint64_t> g_functions[1 << 15]{};

bool first_time(std::uint64_t function) {
  const std::uint64_t hash = function * 0x9E3779B97F4A7C15 >> 20;
  for (std::size_t probe = 0; probe < 64; ++probe) {
    std::atomic<std::uint64_t>& slot = g_functions[(hash + probe) % (std::size_t{1} << 15)];
    std::uint64_t empty = 0;
    if (slot.compare_exchange_strong(empty, function)) return true;
    if (empty == function) return false;
  }
  return true;
}

std::uint64_t module_of(const GraphApi& api, KernelHandle handle) {
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  if (handle.function != nullptr && api.function_module != nullptr) {
    if (api.function_module(&module, handle.function) == CUDA_SUCCESS)
      return reinterpret_cast<std::uint64_t>(module);
  }
  if (handle.kernel != nullptr && api.kernel_library != nullptr) {
    if (api.kernel_library(&library, handle.kernel) == CUDA_SUCCESS)
      return reinterpret_cast<std::uint64_t>(library);
  }
  return 0;
}

void note_function(const GraphApi& api, KernelHandle handle) {
  if (handle.value() == 0 || !first_time(handle.value())) return;
  const char* name = nullptr;
  if (handle.function != nullptr) {
    api.function_name(&name, handle.function);
  } else if (api.kernel_name != nullptr) {
    api.kernel_name(&name, handle.kernel);
  }
  std::uint32_t slots = 0;
  spool::ParameterSlot slot{};
  constexpr std::uint32_t kMostSlots = 4096;
  while (slots < kMostSlots && parameter(api, handle, slots, slot)) ++slots;
  const std::uint32_t name_bytes = text_bytes(name);
  Frame<spool::Function> frame(slots * sizeof slot + name_bytes);
  if (!frame) return;
  frame->function = handle.value();
  frame->module = module_of(api, handle);
  frame->waits = waits_of(frame->module, name);
  frame->slots = slots;
  frame->name_bytes = name_bytes;
  for (std::uint32_t index = 0; index < slots; ++index) {
    parameter(api, handle, index, slot);
    frame.append(&slot, sizeof slot);
  }
  frame.append(name, name_bytes);
}

// ---- Parameters --------------------------------------------------------------------------------

spool::KernelPayload payload_of(const CUDA_KERNEL_NODE_PARAMS& from, std::uint32_t argument_bytes) {
  return {.function = handle_of(from).value(),
          .grid = {from.gridDimX, from.gridDimY, from.gridDimZ},
          .block = {from.blockDimX, from.blockDimY, from.blockDimZ},
          .cluster = {},
          .shared_bytes = from.sharedMemBytes,
          .cooperative = 0,
          .argument_bytes = argument_bytes};
}

spool::MemsetPayload payload_of(const CUDA_MEMSET_NODE_PARAMS& from) {
  return {.address = from.dst,
          .width = from.width,
          .height = from.height,
          .pitch = from.pitch,
          .value = from.value,
          .element_bytes = from.elementSize};
}

spool::Space space_of(const GraphApi& api, std::uint64_t address) {
  unsigned type = 0;
  if (api.pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS) {
    return spool::Space::PageableHost;  // the driver does not know it
  }
  unsigned managed = 0;
  (void)api.pointer_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
  if (managed != 0) return spool::Space::Managed;
  return type == CU_MEMORYTYPE_HOST ? spool::Space::PinnedHost : spool::Space::Device;
}

spool::MemcpyPayload payload_of(const GraphApi& api, const CUDA_MEMCPY3D& from) {
  spool::MemcpyPayload to{};
  to.bytes = std::uint64_t{from.WidthInBytes} * (from.Height == 0 ? 1 : from.Height) *
             (from.Depth == 0 ? 1 : from.Depth);
  const auto end = [&](CUmemorytype type, CUdeviceptr device, const void* host,
                       std::uint64_t& address, spool::Space& space) {
    if (type == CU_MEMORYTYPE_ARRAY) return;
    address = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uint64_t>(host) : device;
    space = space_of(api, address);
  };
  end(from.srcMemoryType, from.srcDevice, from.srcHost, to.source, to.source_space);
  end(from.dstMemoryType, from.dstDevice, from.dstHost, to.target, to.target_space);
  return to;
}

// ---- Nodes -------------------------------------------------------------------------------------

class Walk {
 public:
  Walk(const GraphApi& api, std::uint64_t graph)
      : api_(api), graph_(graph), arguments_(spool::kMaxArguments) {}

  void read(CUgraph graph, std::int32_t parent) {
    std::size_t count = 0;
    if (!succeeded(api_.get_nodes(graph, nullptr, &count))) return;
    Scratch<CUgraphNode> nodes(count);
    Scratch<std::int32_t> indices(count);
    if (nodes.data() == nullptr || indices.data() == nullptr) return fail(CUDA_ERROR_OUT_OF_MEMORY);
    if (count > 0 && !succeeded(api_.get_nodes(graph, nodes.data(), &count))) return;
    for (std::size_t n = 0; n < count; ++n) {
      indices[n] = count_;
      add(nodes[n], parent);
    }
    read_edges(graph, nodes, indices, count);
  }

  void finish() {
    Frame<spool::GraphRead> frame;
    if (!frame) return;
    frame->graph = graph_;
    frame->nodes = static_cast<std::uint32_t>(count_);
    frame->result = result_;
  }

 private:
  void fail(CUresult result) {
    if (result_ == CUDA_SUCCESS) result_ = result;
  }
  bool succeeded(CUresult result) {
    if (result != CUDA_SUCCESS) fail(result);
    return result == CUDA_SUCCESS;
  }

  void add(CUgraphNode handle, std::int32_t parent) {
    spool::Node node{};
    node.graph = graph_;
    node.node = reinterpret_cast<std::uint64_t>(handle);
    node.index = count_++;
    node.parent = parent;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    node.result = api_.get_type(handle, &type);
    node.type = node.result == CUDA_SUCCESS ? static_cast<std::uint32_t>(type) : 255;
    std::uint32_t argument_bytes = 0;
    CUgraph child = nullptr;
    ConditionalBodies bodies;
    if (node.result == CUDA_SUCCESS) read_parameters(handle, node, argument_bytes, child, bodies);
    {
      Frame<spool::Node> frame(argument_bytes);
      if (frame) {
        *frame = node;
        frame.append(arguments_.data(), argument_bytes);
      } else {
        fail(CUDA_ERROR_OUT_OF_MEMORY);
      }
    }
    write_tensor_maps({.graph = graph_, .node = node.node}, arguments_.data(), argument_bytes);
    if (child != nullptr) read(child, node.index);
    for (unsigned body = 0; body < bodies.count; ++body) {
      {
        Frame<spool::Body> frame;
        if (!frame) return fail(CUDA_ERROR_OUT_OF_MEMORY);
        frame->graph = graph_;
        frame->parent = node.index;
        frame->number = body;
      }
      if (bodies.graphs[body] != nullptr) read(bodies.graphs[body], node.index);
    }
  }

  void read_parameters(CUgraphNode handle, spool::Node& node, std::uint32_t& argument_bytes,
                       CUgraph& child, ConditionalBodies& bodies) {
    switch (node.type) {
      case CU_GRAPH_NODE_TYPE_KERNEL: {
        CUDA_KERNEL_NODE_PARAMS from{};
        node.result = api_.get_kernel(handle, &from);
        if (node.result != CUDA_SUCCESS) return;
        note_function(api_, handle_of(from));
        write_eager_launches(handle_of(from).value());
        if (arguments_.data() != nullptr)
          argument_bytes = read_arguments(api_, from, arguments_.data());
        node.kernel = payload_of(from, argument_bytes);
        read_attributes(handle, node.kernel);
        return;
      }
      case CU_GRAPH_NODE_TYPE_MEMSET: {
        CUDA_MEMSET_NODE_PARAMS from{};
        node.result = api_.get_memset(handle, &from);
        if (node.result == CUDA_SUCCESS) node.memset = payload_of(from);
        return;
      }
      case CU_GRAPH_NODE_TYPE_MEMCPY: {
        CUDA_MEMCPY3D from{};
        node.result = api_.get_memcpy(handle, &from);
        if (node.result == CUDA_SUCCESS) node.memcpy = payload_of(api_, from);
        return;
      }
      case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
        CUDA_MEM_ALLOC_NODE_PARAMS from{};
        node.result = api_.get_alloc(handle, &from);
        if (node.result == CUDA_SUCCESS)
          node.memory = {.address = from.dptr, .bytes = from.bytesize};
        return;
      }
      case CU_GRAPH_NODE_TYPE_MEM_FREE: {
        CUdeviceptr address = 0;
        node.result = api_.get_free(handle, &address);
        if (node.result == CUDA_SUCCESS) node.memory = {.address = address, .bytes = 0};
        return;
      }
      case CU_GRAPH_NODE_TYPE_GRAPH:
        node.result = api_.get_child(handle, &child);
        return;
      case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        if (!read_conditional(api_, handle, bodies)) {
          bodies = {};
          node.result = CUDA_ERROR_NOT_SUPPORTED;
          return;
        }
        node.conditional = {.kind = static_cast<std::uint32_t>(bodies.kind),
                            .bodies = bodies.count};
        return;
      default:
        return;
    }
  }

  void read_attributes(CUgraphNode handle, spool::KernelPayload& kernel) const {
    if (api_.get_attribute == nullptr) return;
    CUlaunchAttributeValue value{};
    if (api_.get_attribute(handle, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value) == CUDA_SUCCESS) {
      kernel.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
    }
    value = {};
    if (api_.get_attribute(handle, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value) == CUDA_SUCCESS) {
      kernel.cooperative = value.cooperative != 0 ? 1 : 0;
    }
  }

  /// The driver lists edges by handles; frames have indices.
  void read_edges(CUgraph graph, Scratch<CUgraphNode>& nodes, Scratch<std::int32_t>& indices,
                  std::size_t count) {
    std::size_t edges = 0;
    if (!succeeded(api_.get_edges(graph, nullptr, nullptr, nullptr, &edges)) || edges == 0) return;
    Scratch<CUgraphNode> from(edges);
    Scratch<CUgraphNode> to(edges);
    Scratch<CUgraphEdgeData> kinds(edges);
    HandleIndex places(nodes.data(), count);
    if (from.data() == nullptr || to.data() == nullptr || kinds.data() == nullptr || !places) {
      return fail(CUDA_ERROR_OUT_OF_MEMORY);
    }
    if (!succeeded(api_.get_edges(graph, from.data(), to.data(), kinds.data(), &edges))) return;
    const auto index_of = [&](CUgraphNode node) {
      const std::int32_t place = places.find(node);
      return place < 0 ? -1 : indices[static_cast<std::size_t>(place)];
    };
    constexpr std::size_t kBatch = 4096;
    for (std::size_t first = 0; first < edges; first += kBatch) {
      const std::size_t batch = edges - first < kBatch ? edges - first : kBatch;
      Frame<spool::Edges> frame(batch * sizeof(spool::Edge));
      if (!frame) return fail(CUDA_ERROR_OUT_OF_MEMORY);
      frame->graph = graph_;
      frame->count = static_cast<std::uint32_t>(batch);
      for (std::size_t e = first; e < first + batch; ++e) {
        const spool::Edge edge{
            .from = index_of(from[e]), .to = index_of(to[e]), .type = type_of(kinds[e])};
        frame.append(&edge, sizeof edge);
      }
    }
  }

  static spool::EdgeType type_of(const CUgraphEdgeData& data) {
    if (data.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER)
      return spool::EdgeType::LaunchOrder;
    const bool programmatic = data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC ||
                              data.from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
    return programmatic ? spool::EdgeType::Programmatic : spool::EdgeType::Full;
  }

  const GraphApi& api_;
  std::uint64_t graph_;
  std::int32_t count_ = 0;
  CUresult result_ = CUDA_SUCCESS;
  Scratch<std::byte> arguments_;
};

/// A frame for a changed node; `describe` fills what its type has.
template <class Describe>
void change(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type, const std::byte* arguments,
            std::uint32_t argument_bytes, const Describe& describe) {
  Frame<spool::NodeChanged> frame(argument_bytes);
  if (!frame) return;
  frame->exec = reinterpret_cast<std::uint64_t>(exec);
  frame->node.node = reinterpret_cast<std::uint64_t>(node);
  frame->node.type = type;
  describe(frame->node);
  if (argument_bytes > 0) frame.append(arguments, argument_bytes);
}

}  // namespace

void record_graph(std::uint64_t number, CUgraphExec exec, CUgraph graph,
                  spool::GraphReason reason) {
  const GraphApi& api = graph_api();
  if (!api.complete) return;
  const RelaxedCapture relaxed(api);
  std::size_t count = 0;
  if (api.get_nodes(graph, nullptr, &count) != CUDA_SUCCESS) return;
  {
    Frame<spool::GraphBegan> frame;
    if (!frame) return;
    frame->graph = number;
    frame->exec = reinterpret_cast<std::uint64_t>(exec);
    frame->source = reinterpret_cast<std::uint64_t>(graph);
    frame->reason = reason;
    frame->nodes = static_cast<std::uint32_t>(count);
  }
  Walk walk(api, number);
  walk.read(graph, -1);
  walk.finish();
}

void record_change(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& parameters) {
  const GraphApi& api = graph_api();
  if (!api.complete) return;
  const RelaxedCapture relaxed(api);
  Scratch<std::byte> arguments(spool::kMaxArguments);
  if (arguments.data() == nullptr) return;
  note_function(api, handle_of(parameters));
  const std::uint32_t bytes = read_arguments(api, parameters, arguments.data());
  change(exec, node, CU_GRAPH_NODE_TYPE_KERNEL, arguments.data(), bytes,
         [&](spool::Node& to) { to.kernel = payload_of(parameters, bytes); });
  write_tensor_maps({.exec = reinterpret_cast<std::uint64_t>(exec),
                     .node = reinterpret_cast<std::uint64_t>(node)},
                    arguments.data(), bytes);
}

void record_change(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS& parameters) {
  change(exec, node, CU_GRAPH_NODE_TYPE_MEMSET, nullptr, 0,
         [&](spool::Node& to) { to.memset = payload_of(parameters); });
}

void record_change(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D& parameters) {
  const GraphApi& api = graph_api();
  if (!api.complete) return;
  const RelaxedCapture relaxed(api);
  change(exec, node, CU_GRAPH_NODE_TYPE_MEMCPY, nullptr, 0,
         [&](spool::Node& to) { to.memcpy = payload_of(api, parameters); });
}

void forget_functions() {
  forget_eager_launches();
  for (std::atomic<std::uint64_t>& function : g_functions)
    function.store(0, std::memory_order_relaxed);
}

}  // namespace attach
