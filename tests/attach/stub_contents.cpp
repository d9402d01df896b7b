// What the stub device's memory holds: a number for each address that was written. Kernels with
// certain names compute with it, so that replays change memory as those of a program do.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "tests/attach/stub_state.h"

namespace {

std::map<CUdeviceptr, std::uint64_t> g_contents;
CUresult g_fault = CUDA_SUCCESS;  // after one, nothing runs any more

std::uint64_t stirred(std::uint64_t value) {
  value = (value ^ (value >> 32)) * 0xD6E8FEB86659FD93;
  return value ^ (value >> 32);
}

std::uint64_t at(CUdeviceptr address) {
  const auto found = g_contents.find(address);
  return found == g_contents.end() ? 0 : found->second;
}

template <class Value>
Value argument(const CUDA_KERNEL_NODE_PARAMS_v2& kernel, std::size_t index) {
  Value value{};
  std::memcpy(&value, kernel.kernelParams[index], sizeof value);
  return value;
}

struct HashedPiece {
  std::uint64_t address;
  std::uint64_t bytes;
};

/// The kernel that the attach library brings: any change of what a piece holds changes its hash.
CUresult hash_memory(const CUDA_KERNEL_NODE_PARAMS_v2& kernel) {
  const auto* pieces = argument<const HashedPiece*>(kernel, 0);
  auto* hashes = argument<std::uint64_t*>(kernel, 1);
  for (unsigned block = 0; block < kernel.gridDimX; ++block) {
    const HashedPiece& piece = pieces[block];
    if (!stub::is_readable(piece.address, piece.bytes)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    hashes[block] = 0;
    for (auto one = g_contents.lower_bound(piece.address);
         one != g_contents.end() && one->first < piece.address + piece.bytes; ++one)
      hashes[block] += stirred(one->second ^ stirred(one->first - piece.address + 1));
  }
  return CUDA_SUCCESS;
}

}  // namespace

void stub::write(CUdeviceptr address, std::uint64_t value) { g_contents[address] = value; }

void stub::write(CUdeviceptr address, const void* bytes, std::size_t count) {
  std::uint64_t value = count;
  for (std::size_t i = 0; i < count; ++i)
    value = stirred(value + static_cast<const unsigned char*>(bytes)[i]);
  write(address, value);
}

CUresult stub::run(const CUDA_KERNEL_NODE_PARAMS_v2& kernel) {
  if (kernel.func->module->context != context()) {
    std::fprintf(stderr, "a kernel of a context that is gone\n");
    std::abort();
  }
  if (g_fault != CUDA_SUCCESS) return g_fault;
  const std::string& name = kernel.func->name;
  if (name == "expertscope_hash_memory") return g_fault = hash_memory(kernel);
  const auto address = [&](std::size_t index) { return argument<CUdeviceptr>(kernel, index); };
  if (name == "scale")
    write(address(0), stirred(at(address(1)) + argument<std::uint32_t>(kernel, 2)));
  if (name == "add") write(address(0), stirred(at(address(1))) + at(address(2)));
  if (name == "count") write(address(0), at(address(0)) + 1);
  return CUDA_SUCCESS;
}

stub::Replay stub::run(const CUgraph_st& graph, Slow slow) {
  std::set<CUgraphNode> ended;
  // Nodes were added behind those that they wait for.
  for (const auto& node : graph.nodes) {
    const bool ready = std::ranges::all_of(graph.edges, [&](const StubEdge& edge) {
      return edge.to != node.get() || ended.contains(edge.from);
    });
    const bool runs_on = node->type == CU_GRAPH_NODE_TYPE_KERNEL &&
                         (node->kernel.func->name == "spin" ||
                          (node->kernel.func->name == "slow" && slow == Slow::Runs));
    if (!ready || runs_on) continue;
    ended.insert(node.get());
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) run(node->kernel);
    if (node->type == CU_GRAPH_NODE_TYPE_MEMSET &&
        !write_host(node->memset.dst, node->memset.value, node->memset.width))
      write(node->memset.dst, node->memset.value);
    if (node->type == CU_GRAPH_NODE_TYPE_MEMCPY)
      write(node->memcpy.dstDevice, node->memcpy.srcHost, node->memcpy.WidthInBytes);
    for (const CUstreamBatchMemOpParams& one : node->writes) {
      if (!write_host(one.writeValue.address, static_cast<std::uint32_t>(one.writeValue.value), 1))
        return {.result = g_fault = CUDA_ERROR_ILLEGAL_ADDRESS};
    }
  }
  return {.result = g_fault, .ended = ended.size() == graph.nodes.size()};
}
