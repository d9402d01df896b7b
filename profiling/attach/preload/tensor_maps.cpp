#include "profiling/attach/preload/tensor_maps.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include "engine/model/word_hash.h"
#include "profiling/attach/preload/driver_names.h"
#include "profiling/attach/preload/spin_lock.h"
#include "profiling/attach/preload/spool_file.h"

namespace attach {
namespace {

constexpr std::size_t kSets = 4096;
constexpr std::size_t kWays = 8;  // maps of one set; a further one replaces the oldest
constexpr std::uint32_t kMapBytes = sizeof(CUtensorMap);
constexpr std::uint32_t kAlign = 64;  // of a map in argument bytes, at least

/// Instead of the content: two maps with one of them are not to be expected.
struct Key {
  std::uint64_t first;
  std::uint64_t second;
  bool operator==(const Key&) const = default;
};

struct Known {
  Key key;  // zeros = unused
  MappedTensor tensor;
};

struct Set {
  Known maps[kWays];
  std::uint32_t next;  // to be replaced
};

// Zero pages until a map is noted: 1 MiB at most.
constinit Set g_sets[kSets]{};
constinit SpinLock g_lock;
constinit std::atomic<bool> g_any{false};

Key key_of(const void* map) {
  std::uint64_t first = engine::kWordHashSeed;
  std::uint64_t second = 0xC2B2AE3D27D4EB4F;
  for (std::size_t at = 0; at < kMapBytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(map) + at, sizeof word);
    first = engine::with_word(first, word);
    second = (second + word) * 0xFF51AFD7ED558CCD;
    second ^= second >> 29;
  }
  return {first, second | 1};
}

Set& set_of(const Key& key) { return g_sets[key.first % kSets]; }

}  // namespace

void note_tensor_map(const void* map, MappedTensor tensor) {
  const Key key = key_of(map);
  Set& set = set_of(key);
  const std::lock_guard lock(g_lock);
  g_any.store(true, std::memory_order_relaxed);
  for (Known& known : set.maps) {
    if (known.key != key) continue;
    known.tensor = tensor;
    return;
  }
  set.maps[set.next] = {.key = key, .tensor = tensor};
  set.next = (set.next + 1) % kWays;
}

bool find_tensor_map(const void* map, MappedTensor& tensor) {
  if (!g_any.load(std::memory_order_relaxed)) return false;
  const Key key = key_of(map);
  const Set& set = set_of(key);
  const std::lock_guard lock(g_lock);
  for (const Known& known : set.maps) {
    if (known.key != key) continue;
    tensor = known.tensor;
    return true;
  }
  return false;
}

void write_tensor_maps(MapHolder holder, const std::byte* arguments, std::uint32_t bytes) {
  for (std::uint32_t at = 0; at + kMapBytes <= bytes;) {
    MappedTensor tensor;
    if (!find_tensor_map(arguments + at, tensor)) {
      at += kAlign;
      continue;
    }
    Frame<spool::TensorMap> frame;
    if (!frame) return;
    frame->graph = holder.graph;
    frame->exec = holder.exec;
    frame->node = holder.node;
    frame->address = tensor.address;
    frame->bytes = tensor.bytes;
    frame->offset = at;
    at += kMapBytes;
  }
}

void unlock_tensor_maps_of_parent() { g_lock.reset(); }

}  // namespace attach
