// The stub driver's memory. Freed addresses are given again at once, newest first, as a caching
// allocator would: that is what makes freed memory under a graph dangerous.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "tests/attach/stub_state.h"

namespace {

struct Block {
  std::size_t bytes = 0;
  CUmemoryPool pool = nullptr;
  int device = 0;
  bool mapped = false;
  bool readable = true;  // by kernels of the one device that there is
};
constexpr int kMulticast = -1;
std::map<CUdeviceptr, Block> g_memory;
std::vector<std::pair<CUdeviceptr, std::size_t>> g_free;
std::map<CUmemGenericAllocationHandle, int> g_physical;  // its device
CUmemGenericAllocationHandle g_next_handle = 1;
unsigned long long g_context = 0;  // the primary context's id
char g_primary = 0;
const CUcontext kPrimary = reinterpret_cast<CUcontext>(&g_primary);  // after a reset too
thread_local CUcontext t_context = kPrimary;
CUdeviceptr g_next = 0x7f0000000000;

/// From the newest of the free pieces that have this size, else memory that nobody has had.
CUdeviceptr take(std::vector<std::pair<CUdeviceptr, std::size_t>>& free, std::size_t bytes,
                 CUmemoryPool pool = nullptr) {
  const auto again = std::find_if(free.rbegin(), free.rend(),
                                  [&](const auto& one) { return one.second == bytes; });
  CUdeviceptr address = g_next;
  if (again != free.rend()) {
    address = again->first;
    free.erase(std::next(again).base());
  } else {
    g_next += (bytes + 0x1fffff) / 0x200000 * 0x200000;
  }
  const int device = pool == nullptr ? 0 : pool->device;
  g_memory[address] = {.bytes = bytes, .pool = pool, .device = device, .readable = device == 0};
  return address;
}

CUresult give_back(CUdeviceptr address) {
  const auto block = g_memory.find(address);
  if (block == g_memory.end()) return CUDA_ERROR_INVALID_VALUE;
  CUmemoryPool pool = block->second.pool;
  (pool == nullptr ? g_free : pool->free).emplace_back(address, block->second.bytes);
  g_memory.erase(block);
  return CUDA_SUCCESS;
}

CUresult allocate_in_order(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool,
                           CUstream stream) {
  const std::lock_guard lock(stub::mutex());
  *address = take(pool == nullptr ? g_free : pool->free, bytes, pool);
  if (!stub::captured(stream)) return CUDA_SUCCESS;
  CUgraphNode node = stub::add_node(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  node->address = *address;
  node->bytes = bytes;
  return CUDA_SUCCESS;
}

void trim(CUmemoryPool pool) {
  g_free.insert(g_free.end(), pool->free.begin(), pool->free.end());
  pool->free.clear();
}

}  // namespace

unsigned long long stub::context() { return g_context; }

bool stub::is_readable(CUdeviceptr address, std::size_t bytes) {
  const auto after = g_memory.upper_bound(address);
  if (after == g_memory.begin()) return false;
  const auto& [begin, block] = *std::prev(after);
  return block.readable && address + bytes <= begin + block.bytes;
}

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  const std::lock_guard lock(stub::mutex());
  if (const CUresult refused = stub::unsafe_call(); refused != CUDA_SUCCESS) return refused;
  *address = take(g_free, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  const std::lock_guard lock(stub::mutex());
  if (const CUresult refused = stub::unsafe_call(); refused != CUDA_SUCCESS) return refused;
  return give_back(address);
}
CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return allocate_in_order(address, bytes, nullptr, stream);
}
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return cuMemAllocAsync(address, bytes, stream);
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  const std::lock_guard lock(stub::mutex());
  if (!stub::captured(stream)) return give_back(address);
  stub::add_node(stream, CU_GRAPH_NODE_TYPE_MEM_FREE)->address = address;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
  return cuMemFreeAsync(address, stream);
}
CUresult cuMemAllocHost_v2(void** address, size_t bytes) {
  *address = std::malloc(bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* address) {
  std::free(address);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  *pool = new CUmemPoolHandle_st{.device = properties->location.id, .free = {}};
  return CUDA_SUCCESS;
}
/// What is still allocated stays until it is freed, as the driver says.
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  const std::lock_guard lock(stub::mutex());
  trim(pool);
  for (auto& [address, block] : g_memory) {
    if (block.pool == pool) block.pool = nullptr;
  }
  delete pool;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  const std::lock_guard lock(stub::mutex());
  trim(pool);
  return CUDA_SUCCESS;
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  return allocate_in_order(address, bytes, pool, stream);
}
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                      CUstream stream) {
  return allocate_in_order(address, bytes, pool, stream);
}

CUresult cuPointerGetAttribute(void* answer, CUpointer_attribute attribute, CUdeviceptr address) {
  const std::lock_guard lock(stub::mutex());
  const auto after = g_memory.upper_bound(address);
  const bool known = after != g_memory.begin() &&
                     address - std::prev(after)->first < std::prev(after)->second.bytes;
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<unsigned*>(answer) = attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE
                                        ? unsigned{CU_MEMORYTYPE_DEVICE}
                                        : static_cast<unsigned>(std::prev(after)->second.device);
  return CUDA_SUCCESS;
}

// ---- Mapped memory

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t,
                     const CUmemAllocationProp* properties, unsigned long long) {
  const std::lock_guard lock(stub::mutex());
  *handle = g_next_handle++;
  g_physical[*handle] = properties->location.id;
  return CUDA_SUCCESS;
}
CUresult cuMulticastCreate(CUmemGenericAllocationHandle* handle, const CUmulticastObjectProp*) {
  const std::lock_guard lock(stub::mutex());
  *handle = g_next_handle++;
  g_physical[*handle] = kMulticast;
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(stub::mutex());
  return g_physical.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr,
                             unsigned long long) {
  const std::lock_guard lock(stub::mutex());
  *address = g_next;
  g_next += (bytes + 0x1fffff) / 0x200000 * 0x200000;
  return CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  const std::lock_guard lock(stub::mutex());
  if (!g_physical.contains(handle)) return CUDA_ERROR_INVALID_VALUE;
  g_memory[address] = {
      .bytes = bytes, .device = g_physical[handle], .mapped = true, .readable = false};
  return CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access,
                        size_t count) {
  const std::lock_guard lock(stub::mutex());
  for (auto& [at, block] : g_memory) {
    if (at < address || at >= address + bytes) continue;
    for (std::size_t i = 0; i < count; ++i) {
      if (access[i].location.id == 0)
        block.readable = block.device != kMulticast && access[i].flags != 0;
    }
  }
  return CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  const std::lock_guard lock(stub::mutex());
  std::erase_if(g_memory, [&](const auto& one) {
    return one.second.mapped && one.first >= address && one.first < address + bytes;
  });
  return CUDA_SUCCESS;
}

// ---- The context

CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = t_context;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  t_context = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  const std::lock_guard lock(stub::mutex());
  constexpr unsigned long long kOther = 1000;
  *id = context == kPrimary ? g_context : kOther;
  return CUDA_SUCCESS;
}
/// Its memory goes, and nobody calls cuMemFree.
CUresult cuDevicePrimaryCtxReset_v2(CUdevice) {
  const std::lock_guard lock(stub::mutex());
  std::erase_if(g_memory, [](const auto& one) { return !one.second.mapped; });
  ++g_context;
  return CUDA_SUCCESS;
}

}  // extern "C"
