#include "profiling/hazards/snapshot/graph_reader.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/common/waiting_kernels.h"
#include "profiling/hazards/model/names.h"
#include "profiling/hazards/snapshot/foreign_memory.h"
#include "profiling/hazards/snapshot/node_order.h"

namespace profiling {

namespace {

NodeType node_type(CUgraphNodeType type) {
  const auto number = static_cast<unsigned>(type);
  return number <= static_cast<unsigned>(NodeType::Conditional) ? static_cast<NodeType>(number)
                                                                : NodeType::Unknown;
}

/// The argument buffer inside `extra`; null = none.
const std::byte* packed_arguments(const CUDA_KERNEL_NODE_PARAMS& parameters) {
  if (parameters.extra == nullptr) return nullptr;
  for (void** entry = parameters.extra; *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (*entry == CU_LAUNCH_PARAM_BUFFER_POINTER) return static_cast<std::byte*>(entry[1]);
  }
  return nullptr;
}

class Reader {
 public:
  explicit Reader(const engine::DriverApi& driver) : driver_(driver) {}

  engine::Status read(CUgraph graph, int parent) {
    std::size_t count = 0;
    CUresult result = driver_.graph_get_nodes(graph, nullptr, &count);
    std::vector<CUgraphNode> nodes(count);
    if (result == CUDA_SUCCESS && count > 0) {
      result = driver_.graph_get_nodes(graph, nodes.data(), &count);
    }
    ENGINE_TRY(engine::check_driver(result, "Reading the graph's nodes"));
    std::vector<CUgraphNode> from;
    std::vector<CUgraphNode> to;
    std::vector<CUgraphEdgeData> kinds;
    ENGINE_TRY(read_edges(graph, from, to, kinds));

    std::unordered_map<CUgraphNode, int> index;
    for (const CUgraphNode node : in_order(nodes, from, to)) {
      index.emplace(node, static_cast<int>(read_.handles.size()));
      ENGINE_TRY(add(node, parent));
    }
    for (std::size_t e = 0; e < from.size(); ++e) {
      read_.snapshot.edges.push_back(
          {.from = index.at(from[e]), .to = index.at(to[e]), .kind = edge_kind(kinds[e])});
    }
    return {};
  }

  ReadGraph take() { return std::move(read_); }

 private:
  static EdgeKind edge_kind(const CUgraphEdgeData& data) {
    if (data.from_port == 2) return EdgeKind::LaunchOrder;
    return data.type == 1 || data.from_port == 1 ? EdgeKind::Programmatic : EdgeKind::Full;
  }

  engine::Status read_edges(CUgraph graph, std::vector<CUgraphNode>& from,
                            std::vector<CUgraphNode>& to, std::vector<CUgraphEdgeData>& kinds) {
    std::size_t count = 0;
    // Without edge data, programmatic edges make the query fail.
    CUresult result = driver_.graph_get_edges(graph, nullptr, nullptr, nullptr, &count);
    from.resize(count);
    to.resize(count);
    kinds.resize(count);
    if (result == CUDA_SUCCESS && count > 0) {
      result = driver_.graph_get_edges(graph, from.data(), to.data(), kinds.data(), &count);
    }
    ENGINE_TRY(engine::check_driver(result, "Reading the graph's edges"));
    return {};
  }

  /// Each after its dependencies; otherwise in creation order.
  static std::vector<CUgraphNode> in_order(const std::vector<CUgraphNode>& nodes,
                                           const std::vector<CUgraphNode>& from,
                                           const std::vector<CUgraphNode>& to) {
    std::unordered_map<CUgraphNode, std::size_t> created;
    for (std::size_t n = 0; n < nodes.size(); ++n) created.emplace(nodes[n], n);
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    for (std::size_t e = 0; e < from.size(); ++e) {
      edges.emplace_back(created.at(from[e]), created.at(to[e]));
    }
    std::vector<CUgraphNode> ordered;
    for (const std::size_t n : dependency_order(nodes.size(), edges)) ordered.push_back(nodes[n]);
    return ordered;
  }

  engine::Status add(CUgraphNode handle, int parent) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    ENGINE_TRY(engine::check_driver(driver_.graph_node_get_type(handle, &type),
                                    "Querying a graph node's type"));
    const int self = static_cast<int>(read_.handles.size());
    read_.handles.push_back(handle);
    SnapshotNode& node = read_.snapshot.nodes.emplace_back();
    node.type = node_type(type);
    node.name = name_of(node.type);
    node.parent = parent;
    switch (node.type) {
      case NodeType::Kernel:
        return read_kernel(handle, node);
      case NodeType::Memset:
        return read_memset(handle, node);
      case NodeType::Memcpy:
        return read_memcpy(handle, node);
      case NodeType::MemAlloc:
        return read_alloc(handle, node);
      case NodeType::MemFree:
        return read_free(handle, node);
      case NodeType::ChildGraph: {
        CUgraph child = nullptr;
        ENGINE_TRY(engine::check_driver(driver_.graph_child_graph_node_get_graph(handle, &child),
                                        "Reading a child graph"));
        return read(child, self);
      }
      default:
        return {};
    }
  }

  engine::Status read_kernel(CUgraphNode handle, SnapshotNode& node) {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    ENGINE_TRY(engine::check_driver(driver_.graph_kernel_node_get_params(handle, &parameters),
                                    "Reading a kernel node"));
    KernelNode kernel{.function = {},
                      .grid = {parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ},
                      .block = {parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ},
                      .cluster = {},
                      .dynamic_shared_bytes = parameters.sharedMemBytes,
                      .cooperative = false,
                      .parameters = {},
                      .slots = {}};
    const char* symbol = nullptr;
    const CUresult named = parameters.func != nullptr
                               ? driver_.func_get_name(&symbol, parameters.func)
                               : driver_.kernel_get_name(&symbol, parameters.kern);
    if (named == CUDA_SUCCESS && symbol != nullptr) {
      kernel.function = symbol;
      node.name = readable_kernel_name(symbol);
      if (kernels::waits_for_predecessor(symbol)) kernel.waits_for_programmatic = Known::Yes;
    }
    KernelArguments arguments = read_arguments(driver_, parameters);
    kernel.parameters = std::move(arguments.bytes);
    kernel.slots = std::move(arguments.slots);
    CUkernelNodeAttrValue value{};
    if (driver_.graph_kernel_node_get_attribute(handle, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                                &value) == CUDA_SUCCESS &&
        value.clusterDim.x > 0) {
      kernel.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
    }
    value = {};
    if (driver_.graph_kernel_node_get_attribute(handle, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value) ==
        CUDA_SUCCESS) {
      kernel.cooperative = value.cooperative != 0;
    }
    node.parameters = std::move(kernel);
    return {};
  }

  engine::Status read_memset(CUgraphNode handle, SnapshotNode& node) {
    CUDA_MEMSET_NODE_PARAMS from{};
    ENGINE_TRY(engine::check_driver(driver_.graph_memset_node_get_params(handle, &from),
                                    "Reading a memset node"));
    node.parameters = MemsetNode{.address = from.dst,
                                 .value = from.value,
                                 .element_bytes = from.elementSize,
                                 .width = from.width,
                                 .height = from.height,
                                 .pitch = from.pitch};
    return {};
  }

  /// For an address whose kind the node does not specify, from unified addressing.
  engine::MemorySpace space_of(std::uint64_t address) const {
    unsigned type = 0;
    if (driver_.pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) !=
        CUDA_SUCCESS) {
      return engine::MemorySpace::PageableHost;  // the driver does not know it
    }
    unsigned managed = 0;
    (void)driver_.pointer_get_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    if (managed != 0) return engine::MemorySpace::Managed;
    return type == CU_MEMORYTYPE_HOST ? engine::MemorySpace::PinnedHost
                                      : engine::MemorySpace::Device;
  }

  engine::Status read_memcpy(CUgraphNode handle, SnapshotNode& node) {
    CUDA_MEMCPY3D from{};
    ENGINE_TRY(engine::check_driver(driver_.graph_memcpy_node_get_params(handle, &from),
                                    "Reading a copy node"));
    MemcpyNode copy{.source = 0, .target = 0};
    copy.bytes = std::uint64_t{from.WidthInBytes} * std::max<std::size_t>(from.Height, 1) *
                 std::max<std::size_t>(from.Depth, 1);
    const auto end = [&](CUmemorytype type, CUdeviceptr device, const void* host,
                         std::uint64_t& address, engine::MemorySpace& space) {
      if (type == CU_MEMORYTYPE_ARRAY) return;
      address = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uint64_t>(host) : device;
      space = space_of(address);
    };
    end(from.srcMemoryType, from.srcDevice, from.srcHost, copy.source, copy.source_space);
    end(from.dstMemoryType, from.dstDevice, from.dstHost, copy.target, copy.target_space);
    node.parameters = copy;
    return {};
  }

  engine::Status read_alloc(CUgraphNode handle, SnapshotNode& node) {
    CUDA_MEM_ALLOC_NODE_PARAMS from{};
    ENGINE_TRY(engine::check_driver(driver_.graph_mem_alloc_node_get_params(handle, &from),
                                    "Reading a memory allocation node"));
    node.parameters = MemAllocNode{.address = from.dptr, .bytes = from.bytesize};
    return {};
  }

  engine::Status read_free(CUgraphNode handle, SnapshotNode& node) {
    CUdeviceptr address = 0;
    ENGINE_TRY(engine::check_driver(driver_.graph_mem_free_node_get_params(handle, &address),
                                    "Reading a memory release node"));
    node.parameters = MemFreeNode{.address = address};
    return {};
  }

  const engine::DriverApi& driver_;
  ReadGraph read_;
};

}  // namespace

KernelArguments read_arguments(const engine::DriverApi& driver,
                               const CUDA_KERNEL_NODE_PARAMS& parameters) {
  KernelArguments arguments;
  const std::byte* packed = packed_arguments(parameters);
  // The count is available only from CUDA 13.2 on: query until there are no more.
  for (std::size_t index = 0;; ++index) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    const CUresult result =
        parameters.func != nullptr
            ? driver.func_get_param_info(parameters.func, index, &offset, &bytes)
            : driver.kernel_get_param_info(parameters.kern, index, &offset, &bytes);
    if (result != CUDA_SUCCESS) break;
    const void* source = nullptr;
    if (parameters.kernelParams != nullptr) {
      source = parameters.kernelParams[index];
    } else if (packed != nullptr) {
      source = packed + offset;
    }
    if (source == nullptr) break;
    arguments.bytes.resize(std::max(arguments.bytes.size(), offset + bytes));
    std::memcpy(arguments.bytes.data() + offset, source, bytes);
    arguments.slots.push_back(
        {.offset = static_cast<std::uint32_t>(offset), .bytes = static_cast<std::uint32_t>(bytes)});
  }
  return arguments;
}

engine::Result<ReadGraph> read_captured_graph(const engine::DriverApi& driver, CUgraph graph) {
  Reader reader(driver);
  ENGINE_TRY(reader.read(graph, -1));
  return reader.take();
}

namespace {

std::optional<ForeignRange> range_of(const engine::DriverApi& driver, std::uint64_t word) {
  CUdeviceptr begin = 0;
  std::size_t bytes = 0;
  unsigned space = 0;
  const auto ask = [&](void* answer, CUpointer_attribute what) {
    return driver.pointer_get_attribute(answer, what, word) == CUDA_SUCCESS;
  };
  const bool known = ask(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) &&
                     ask(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE) && begin != 0 && bytes > 0 &&
                     word >= begin && word - begin < bytes;
  if (!known) return std::nullopt;
  unsigned managed = 0;
  const bool is_managed = ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED) && managed != 0;
  const bool on_host = ask(&space, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) && space == CU_MEMORYTYPE_HOST;
  return ForeignRange{.address = begin,
                      .bytes = bytes,
                      .space = is_managed ? engine::MemorySpace::Managed
                               : on_host  ? engine::MemorySpace::PinnedHost
                                          : engine::MemorySpace::Device};
}

}  // namespace

void add_driver_memory(const engine::DriverApi& driver, Snapshot& snapshot) {
  constexpr engine::AllocationRole kRole = engine::AllocationRole::DriverKnown;
  add_foreign_memory(snapshot, graph_allocations(snapshot), kRole);
  std::vector<ForeignRange> found;
  for (const std::uint64_t word : unlisted_words(snapshot)) {
    // Words are ascending, so only the range of the last answer may also contain this one.
    if (!found.empty() && word - found.back().address < found.back().bytes) continue;
    if (const std::optional<ForeignRange> range = range_of(driver, word)) found.push_back(*range);
  }
  add_foreign_memory(snapshot, found, kRole);
}

}  // namespace profiling
