#include "profiling/attach/preload/marker_words.h"

#include <sys/mman.h>

#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/live_memory.h"

namespace attach {
namespace {

constexpr std::size_t kLineWords = 16;  // 64 bytes: no two graphs write the same one
constexpr std::size_t kLines = std::size_t{1} << 14;
constexpr std::size_t kWords = kLines * kLineWords;  // 1 MiB
constexpr std::size_t kMostContexts = 16;            // each has its own registration

struct Arena {
  std::uint64_t context = 0;
  std::uint32_t* words = nullptr;
  CUdeviceptr device = 0;
  std::uint8_t used[kLines]{};  // 1 = of a graph
};
constinit Arena g_arenas[kMostContexts]{};

Refusal open_arena(Arena& arena, std::uint64_t context) {
  const auto device_address = reinterpret_cast<decltype(&::cuMemHostGetDevicePointer_v2)>(
      driver_symbol("cuMemHostGetDevicePointer_v2"));
  if (device_address == nullptr)
    return {.result = CUDA_ERROR_NOT_FOUND, .call = "cuMemHostGetDevicePointer"};
  // What an earlier attempt has mapped is used again.
  constexpr std::size_t kBytes = kWords * sizeof *arena.words;
  if (arena.words == nullptr) {
    void* memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return {.result = CUDA_ERROR_OUT_OF_MEMORY, .call = "mmap"};
    arena.words = static_cast<std::uint32_t*>(memory);
  }
  CUresult result = real<&cuMemHostRegister_v2>(static_cast<void*>(arena.words), kBytes,
                                                unsigned{CU_MEMHOSTREGISTER_DEVICEMAP});
  if (result != CUDA_SUCCESS) return {.result = result, .call = "cuMemHostRegister"};
  result = device_address(&arena.device, arena.words, 0);
  if (result != CUDA_SUCCESS) return {.result = result, .call = "cuMemHostGetDevicePointer"};
  arena.context = context;
  return {};
}

Refusal arena_of(std::uint64_t context, Arena*& found) {
  for (Arena& arena : g_arenas) {
    if (arena.context != context && arena.context != 0) continue;
    found = &arena;
    return arena.context == context ? Refusal() : open_arena(arena, context);
  }
  return {.result = CUDA_ERROR_OUT_OF_MEMORY, .call = "cuMemHostRegister"};
}

MarkerWords words_at(const Arena& arena, std::size_t line, std::size_t count) {
  const std::size_t first = line * kLineWords;
  return {.words = arena.words + first,
          .device = arena.device + first * sizeof *arena.words,
          .count = count};
}

std::size_t lines_of(std::size_t count) { return (count + kLineWords - 1) / kLineWords; }

}  // namespace

Refusal take_marker_words(std::size_t count, MarkerWords& taken) {
  const std::uint64_t context = current_context();
  if (context == 0) return {.result = CUDA_ERROR_NOT_FOUND, .call = "cuCtxGetId"};
  Arena* arena = nullptr;
  if (const Refusal refused = arena_of(context, arena)) return refused;
  const std::size_t wanted = lines_of(count);
  std::size_t free = 0;
  for (std::size_t line = 0; line < kLines; ++line) {
    // Lines that were returned may be written by a last replay of their graph.
    free = arena->used[line] == 0 && words_at(*arena, line, kLineWords).all_clear() ? free + 1 : 0;
    if (free < wanted) continue;
    const std::size_t first = line + 1 - wanted;
    taken = words_at(*arena, first, count);
    for (std::size_t i = 0; i < wanted; ++i) arena->used[first + i] = 1;
    return {};
  }
  return {.result = CUDA_ERROR_OUT_OF_MEMORY, .call = "too many markers"};
}

void return_marker_words(const MarkerWords& words) {
  for (Arena& arena : g_arenas) {
    if (arena.words == nullptr || words.words < arena.words || words.words >= arena.words + kWords)
      continue;
    const auto first = static_cast<std::size_t>(words.words - arena.words) / kLineWords;
    for (std::size_t i = 0; i < lines_of(words.count); ++i) arena.used[first + i] = 0;
  }
}

void drop_marker_words_of_parent() {
  for (Arena& arena : g_arenas) {
    if (arena.words != nullptr) arena = {};
  }
}

}  // namespace attach
