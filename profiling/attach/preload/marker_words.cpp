#include "profiling/attach/preload/marker_words.h"

#include <sys/mman.h>

#include <mutex>

#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/live_memory.h"
#include "profiling/attach/preload/spin_lock.h"

namespace attach {
namespace {

constexpr std::size_t kLineWords = 16;  // 64 bytes: no two graphs write the same one
constexpr std::size_t kLines = kMostMarkerWords / kLineWords;
constexpr std::size_t kBytes = kMostMarkerWords * sizeof(std::uint32_t);
constexpr std::size_t kMostContexts = 16;  // at the same time; each has its own registration

struct Arena {
  std::uint64_t id = 0;  // of the context; 0 = unused
  CUcontext context = nullptr;
  std::uint32_t* words = nullptr;  // mapped once, for one context after another
  CUdeviceptr device = 0;
  std::size_t next = 0;         // where the search goes on: words are used again late
  std::uint8_t used[kLines]{};  // 1 = of a graph
};
constinit Arena g_arenas[kMostContexts]{};
constinit SpinLock g_opening;  // held while the driver is asked
constinit SpinLock g_lock;     // of `next` and `used`
constinit std::uint32_t g_tags = 0;

/// Registers its memory with the current context.
const char* open_arena(Arena& arena, CUcontext context, std::uint64_t id, CUresult& result) {
  const auto device_address = reinterpret_cast<decltype(&::cuMemHostGetDevicePointer_v2)>(
      driver_symbol("cuMemHostGetDevicePointer_v2"));
  if (device_address == nullptr) return "the driver is too old";
  if (arena.words == nullptr) {
    void* memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return "there is no memory";
    arena.words = static_cast<std::uint32_t*>(memory);
  }
  void* const host = arena.words;
  result = real<&cuMemHostRegister_v2>(host, kBytes, unsigned{CU_MEMHOSTREGISTER_DEVICEMAP});
  if (result != CUDA_SUCCESS) return "cuMemHostRegister";
  result = device_address(&arena.device, host, 0);
  if (result != CUDA_SUCCESS) {
    (void)real<&cuMemHostUnregister>(host);
    return "cuMemHostGetDevicePointer";
  }
  arena.context = context;
  arena.id = id;
  return nullptr;
}

/// Of this context: its own, an unused one, or that of a context which is gone.
Arena* arena_of(std::uint64_t id) {
  for (Arena& arena : g_arenas) {
    if (arena.id == id || arena.id == 0) return &arena;
  }
  for (Arena& arena : g_arenas) {
    if (context_id(arena.context) == arena.id) continue;
    const std::lock_guard lock(g_lock);
    for (std::uint8_t& used : arena.used) used = 0;
    arena.id = 0;
    return &arena;
  }
  return nullptr;
}

std::size_t lines_of(std::size_t count) { return (count + kLineWords - 1) / kLineWords; }

bool is_clear(const Arena& arena, std::size_t line) {
  const volatile std::uint32_t* words = arena.words + line * kLineWords;
  for (std::size_t i = 0; i < kLineWords; ++i) {
    if (words[i] != 0) return false;
  }
  return true;
}

}  // namespace

const char* take_marker_words(std::size_t count, MarkerWords& taken, CUresult& result) {
  const CUcontext context = current_context();
  const std::uint64_t id = context_id(context);
  if (id == 0) return "the driver does not tell contexts apart";
  Arena* arena = nullptr;
  {
    const std::lock_guard opening(g_opening);
    arena = arena_of(id);
    if (arena == nullptr) return "there are too many contexts";
    if (arena->id == 0) {
      if (const char* why = open_arena(*arena, context, id, result)) return why;
    }
  }
  const std::lock_guard lock(g_lock);
  const std::size_t wanted = lines_of(count);
  std::size_t free = 0;
  for (std::size_t i = 0; i < 2 * kLines; ++i) {
    const std::size_t line = (arena->next + i) % kLines;
    if (line == 0) free = 0;  // no graph's words go around the end
    // A replay of the graph that had them before may not have ended.
    free = arena->used[line] == 0 && is_clear(*arena, line) ? free + 1 : 0;
    if (free < wanted) continue;
    const std::size_t first = line + 1 - wanted;
    for (std::size_t n = 0; n < wanted; ++n) arena->used[first + n] = 1;
    arena->next = line + 1;
    g_tags = g_tags + 1 == 0 ? 1 : g_tags + 1;
    taken = {.words = arena->words + first * kLineWords,
             .device = arena->device + first * kLineWords * sizeof(std::uint32_t),
             .count = count,
             .tag = g_tags,
             .context = context};
    return nullptr;
  }
  return "there is no room for more markers";
}

void return_marker_words(const MarkerWords& words) {
  const std::lock_guard lock(g_lock);
  for (Arena& arena : g_arenas) {
    if (arena.words == nullptr || words.words < arena.words ||
        words.words >= arena.words + kMostMarkerWords)
      continue;
    const auto first = static_cast<std::size_t>(words.words - arena.words) / kLineWords;
    for (std::size_t i = 0; i < lines_of(words.count); ++i) arena.used[first + i] = 0;
  }
}

void drop_marker_words_of_parent() {
  g_opening.reset();
  g_lock.reset();
  for (Arena& arena : g_arenas) {
    if (arena.words != nullptr) arena = {};
  }
}

}  // namespace attach
