#include "profiling/attach/preload/live_memory.h"

#include <atomic>
#include <mutex>

#include "profiling/attach/preload/address_table.h"
#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/graph_api.h"
#include "profiling/attach/preload/spin_lock.h"

namespace attach {
namespace {

constinit std::atomic<bool> g_keeps{false};

struct PhysicalMemory {
  std::uint64_t address = 0;  // its handle
  int device = -1;
};

// All of it under the lock.
constexpr std::size_t kMemoryPlaces = 1 << 16;
constinit AddressTable<LiveMemory, kMemoryPlaces> g_memory{};
constinit AddressTable<PhysicalMemory, kMemoryPlaces> g_physical{};
constinit bool g_memory_incomplete = false;
constinit SpinLock g_memory_lock{};

template <auto Function>
decltype(Function) symbol(const char* name) {
  return reinterpret_cast<decltype(Function)>(driver_symbol(name));
}

int current_device() {
  const auto get = symbol<&::cuCtxGetDevice>("cuCtxGetDevice");
  CUdevice device = -1;
  return get != nullptr && get(&device) == CUDA_SUCCESS ? device : -1;
}

void add_memory(const LiveMemory& memory) {
  if (!g_memory.put(memory)) g_memory_incomplete = true;
}

/// What reaches across `word` becomes two.
void split_at(std::uint64_t word) {
  for (std::size_t place = 0; place < g_memory.places(); ++place) {
    const LiveMemory one = g_memory.at(place);
    if (one.address == 0 || word <= one.address || word - one.address >= one.bytes) continue;
    g_memory.at(place).bytes = word - one.address;
    add_memory({.address = word,
                .bytes = one.bytes - (word - one.address),
                .context = one.context,
                .device = one.device});
    return;
  }
}

bool lies_in(const LiveMemory& one, std::uint64_t address, std::uint64_t bytes) {
  return one.address != 0 && one.address >= address && one.address - address < bytes;
}

/// Kernels of `context` may read what was mapped there on this device, or no longer.
void set_access(std::uint64_t address, std::uint64_t bytes, int device, std::uint64_t context) {
  split_at(address);
  split_at(address + bytes);
  for (std::size_t place = 0; place < g_memory.places(); ++place) {
    LiveMemory& one = g_memory.at(place);
    if (lies_in(one, address, bytes) && one.device == device) one.context = context;
  }
}

bool is_device(const CUmemAccessDesc& access) {
  return access.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

}  // namespace

void keep_live_memory() { g_keeps.store(true, std::memory_order_relaxed); }
bool keeps_live_memory() { return g_keeps.load(std::memory_order_relaxed); }

CUcontext current_context() {
  const auto get_current = symbol<&::cuCtxGetCurrent>("cuCtxGetCurrent");
  CUcontext context = nullptr;
  if (get_current == nullptr || get_current(&context) != CUDA_SUCCESS) return nullptr;
  return context;
}

std::uint64_t context_id(CUcontext context) {
  const auto get_id = symbol<&::cuCtxGetId>("cuCtxGetId");
  unsigned long long id = 0;
  if (get_id == nullptr || context == nullptr || get_id(context, &id) != CUDA_SUCCESS) return 0;
  return id + 1;  // they may be counted from 0
}

std::uint64_t current_context_id() { return context_id(current_context()); }

void memory_lives(std::uint64_t address, std::uint64_t bytes) {
  if (!keeps_live_memory() || address == 0 || bytes == 0) return;
  const LiveMemory memory{.address = address, .bytes = bytes, .context = current_context_id()};
  const std::lock_guard locked(g_memory_lock);
  add_memory(memory);
}

void pool_memory_lives(std::uint64_t address, std::uint64_t bytes) {
  if (!keeps_live_memory() || address == 0) return;
  const GraphApi& api = graph_api();
  unsigned type = 0;
  int device = -1;
  if (api.pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS ||
      api.pointer_attribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) !=
          CUDA_SUCCESS ||
      type != CU_MEMORYTYPE_DEVICE || device != current_device())
    return;
  memory_lives(address, bytes);
}

void memory_ends(std::uint64_t address) {
  if (!keeps_live_memory() || address == 0) return;
  const std::lock_guard locked(g_memory_lock);
  g_memory.remove(address);
}

void physical_memory_made(CUmemGenericAllocationHandle handle, const CUmemAllocationProp& made) {
  if (!keeps_live_memory() || made.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return;
  const std::lock_guard locked(g_memory_lock);
  if (!g_physical.put({.address = handle, .device = made.location.id})) g_memory_incomplete = true;
}

void physical_memory_ends(CUmemGenericAllocationHandle handle) {
  if (!keeps_live_memory()) return;
  const std::lock_guard locked(g_memory_lock);
  g_physical.remove(handle);
}

void memory_is_mapped(std::uint64_t address, std::uint64_t bytes,
                      CUmemGenericAllocationHandle handle) {
  if (!keeps_live_memory() || address == 0 || bytes == 0) return;
  const std::lock_guard locked(g_memory_lock);
  if (const PhysicalMemory* made = g_physical.find(handle))
    add_memory({.address = address, .bytes = bytes, .context = 0, .device = made->device});
}

void mapped_memory_ends(std::uint64_t address, std::uint64_t bytes) {
  if (!keeps_live_memory()) return;
  const std::lock_guard locked(g_memory_lock);
  split_at(address);
  split_at(address + bytes);
  for (std::size_t place = 0; place < g_memory.places();) {
    // Another one may come to the place of what is removed.
    if (lies_in(g_memory.at(place), address, bytes))
      g_memory.remove_at(place);
    else
      ++place;
  }
}

void access_is_taken(std::uint64_t address, std::uint64_t bytes, const CUmemAccessDesc* access,
                     std::size_t count) {
  if (!keeps_live_memory()) return;
  const std::lock_guard locked(g_memory_lock);
  for (std::size_t i = 0; i < count; ++i) {
    if (is_device(access[i]) && access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
      set_access(address, bytes, access[i].location.id, 0);
  }
}

void access_is_given(std::uint64_t address, std::uint64_t bytes, const CUmemAccessDesc* access,
                     std::size_t count) {
  if (!keeps_live_memory()) return;
  // Of other devices than the current context's it is not known which context will read.
  const int device = current_device();
  const std::uint64_t context = current_context_id();
  const std::lock_guard locked(g_memory_lock);
  for (std::size_t i = 0; i < count; ++i) {
    if (is_device(access[i]) && access[i].location.id == device &&
        access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
      set_access(address, bytes, device, context);
  }
}

MemoryStays::MemoryStays() { g_memory_lock.lock(); }
MemoryStays::~MemoryStays() { g_memory_lock.unlock(); }
bool MemoryStays::is_incomplete() const { return g_memory_incomplete; }
std::size_t MemoryStays::places() { return g_memory.places(); }
const LiveMemory& MemoryStays::at(std::size_t place) { return g_memory.at(place); }

void drop_memory_of_parent() {
  g_memory.clear();
  g_physical.clear();
  g_memory_incomplete = false;
  g_memory_lock.reset();
}

}  // namespace attach
