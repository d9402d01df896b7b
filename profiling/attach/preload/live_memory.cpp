#include "profiling/attach/preload/live_memory.h"

#include <atomic>
#include <mutex>

#include "profiling/attach/preload/entry_points.h"

namespace attach {
namespace {

constinit std::atomic<bool> g_keeps{false};

// Open addressing with linear probing; an address of 0 is an empty place.
constexpr std::size_t kMemoryPlaces = 1 << 16;
constexpr std::size_t kMostMemory = kMemoryPlaces / 4 * 3;
constinit LiveMemory g_memory[kMemoryPlaces]{};
constinit std::size_t g_memory_count = 0;
constinit bool g_memory_incomplete = false;
constinit SpinLock g_memory_lock{};

std::size_t memory_home(std::uint64_t address) {
  return static_cast<std::size_t>(address * 0x9E3779B97F4A7C15 >> 20) % kMemoryPlaces;
}

/// Where it is, or would be.
std::size_t memory_place(std::uint64_t address) {
  std::size_t place = memory_home(address);
  while (g_memory[place].address != 0 && g_memory[place].address != address)
    place = (place + 1) % kMemoryPlaces;
  return place;
}

/// Closes the gap, so that what was placed behind it is still found.
void remove_memory(std::size_t gap) {
  std::size_t next = gap;
  for (;;) {
    next = (next + 1) % kMemoryPlaces;
    if (g_memory[next].address == 0) break;
    const std::size_t home = memory_home(g_memory[next].address);
    const bool stays = gap <= next ? gap < home && home <= next : gap < home || home <= next;
    if (stays) continue;
    g_memory[gap] = g_memory[next];
    gap = next;
  }
  g_memory[gap] = {};
  --g_memory_count;
}

int current_device() {
  static constinit std::atomic<void*> known{nullptr};
  void* address = known.load(std::memory_order_acquire);
  if (address == nullptr) {
    address = driver_symbol("cuCtxGetDevice");
    if (address == nullptr) return -1;
    known.store(address, std::memory_order_release);
  }
  CUdevice device = -1;
  return reinterpret_cast<decltype(&::cuCtxGetDevice)>(address)(&device) == CUDA_SUCCESS ? device
                                                                                         : -1;
}

void add_memory(const LiveMemory& memory) {
  LiveMemory& place = g_memory[memory_place(memory.address)];
  if (place.address == 0) {
    if (g_memory_count >= kMostMemory) {
      g_memory_incomplete = true;
      return;
    }
    ++g_memory_count;
  }
  place = memory;
}

/// What lies partly in the range keeps its other parts.
void remove_range(std::uint64_t begin, std::uint64_t end) {
  for (std::size_t place = 0; g_memory_count > 0 && place < kMemoryPlaces;) {
    const LiveMemory one = g_memory[place];
    const std::uint64_t one_end = one.address + one.bytes;
    if (one.address == 0 || one_end <= begin || end <= one.address) {
      ++place;
      continue;
    }
    remove_memory(place);  // another one may have come here
    if (one.address < begin) add_memory({one.address, begin - one.address, one.device});
    if (end < one_end) add_memory({end, one_end - end, one.device});
  }
}

}  // namespace

void keep_live_memory() { g_keeps.store(true, std::memory_order_relaxed); }
bool keeps_live_memory() { return g_keeps.load(std::memory_order_relaxed); }

void memory_lives(std::uint64_t address, std::uint64_t bytes) {
  if (!keeps_live_memory() || address == 0 || bytes == 0) return;
  const int device = current_device();
  const std::lock_guard locked(g_memory_lock);
  add_memory({.address = address, .bytes = bytes, .device = device});
}

void mapped_memory_lives(std::uint64_t address, std::uint64_t bytes, const CUmemAccessDesc* access,
                         std::size_t count) {
  if (!keeps_live_memory() || address == 0 || bytes == 0) return;
  int device = -1;
  for (std::size_t i = 0; i < count; ++i) {
    const bool readable = access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                          access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if (readable && (device < 0 || access[i].location.id == current_device()))
      device = access[i].location.id;
  }
  const std::lock_guard locked(g_memory_lock);
  remove_range(address, address + bytes);
  if (device >= 0) add_memory({.address = address, .bytes = bytes, .device = device});
}

void mapped_memory_ends(std::uint64_t address, std::uint64_t bytes) {
  if (!keeps_live_memory()) return;
  const std::lock_guard locked(g_memory_lock);
  remove_range(address, address + bytes);
}

void memory_ends(std::uint64_t address) {
  if (!keeps_live_memory() || address == 0) return;
  const std::lock_guard locked(g_memory_lock);
  const std::size_t place = memory_place(address);
  if (g_memory[place].address != 0) remove_memory(place);
}

MemoryStays::MemoryStays() { g_memory_lock.lock(); }
MemoryStays::~MemoryStays() { g_memory_lock.unlock(); }
bool MemoryStays::is_incomplete() const { return g_memory_incomplete; }
std::size_t MemoryStays::places() { return g_memory_count == 0 ? 0 : kMemoryPlaces; }
const LiveMemory* MemoryStays::at(std::size_t place) {
  return g_memory[place].address == 0 ? nullptr : &g_memory[place];
}

void drop_memory_of_parent() {
  if (g_memory_count != 0) {
    for (LiveMemory& one : g_memory) one = {};
  }
  g_memory_count = 0;
  g_memory_incomplete = false;
  g_memory_lock.reset();
}

}  // namespace attach
