#include "profiling/attach/preload/eager_launches.h"

#include <sched.h>
#include <atomic>
#include <cstring>

#include "engine/model/word_hash.h"
#include "profiling/attach/preload/graph_api.h"
#include "profiling/attach/preload/kernel_arguments.h"
#include "profiling/attach/preload/spool_file.h"

namespace attach {
namespace {

constexpr std::size_t kKernels = 2048;  // further ones are not followed
constexpr std::size_t kProbes = 16;
constexpr std::size_t kMostSlots = 64;  // kernels with more parameters or bytes are not followed
constexpr std::size_t kMostBytes = 1024;
constexpr std::size_t kMostImages = 16;  // fewer of a kernel with many bytes
constexpr std::size_t kImageBytes = 4096;
constexpr std::uint32_t kMostWritten = 64;  // frames of one kernel

/// Argument bytes that launches of a kernel had, and how often.
struct Image {
  std::uint64_t hash;
  std::uint64_t first_seen;
  std::uint64_t launches;
  LaunchShape shape;
  bool written;
};

struct Kernel {
  std::atomic<std::uint64_t> function;
  std::atomic_flag busy;
  bool asked;           // for its layout
  std::uint16_t slots;  // 0 = not followed
  std::uint32_t bytes;
  spool::ParameterSlot slot[kMostSlots];
  std::uint32_t room;  // for how many images
  std::uint32_t images;
  std::uint32_t next;  // to be replaced, if there is no room
  std::uint32_t frames;
  Image image[kMostImages];
  std::byte arguments[kImageBytes];  // of the images, one after another
};

// Zero pages until a kernel is noted: 11 MiB at most.
constinit Kernel g_kernels[kKernels]{};

Kernel* kernel_of(std::uint64_t function, bool create) {
  const std::uint64_t hash = function * 0x9E3779B97F4A7C15 >> 20;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    Kernel& kernel = g_kernels[(hash + probe) % kKernels];
    std::uint64_t known = kernel.function.load(std::memory_order_acquire);
    if (known == 0 && create && kernel.function.compare_exchange_strong(known, function))
      return &kernel;
    if (known == function) return &kernel;
    if (known == 0) return nullptr;
  }
  return nullptr;
}

/// A kernel is one thread's at a time. One that finds it busy leaves its launch out.
class Hold {
 public:
  Hold(Kernel& kernel, std::uint64_t function) : kernel_(kernel) {
    held_ = !kernel.busy.test_and_set(std::memory_order_acquire);
    same_ = held_ && kernel.function.load(std::memory_order_relaxed) == function;
  }
  ~Hold() {
    if (held_) kernel_.busy.clear(std::memory_order_release);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  explicit operator bool() const { return same_; }

 private:
  Kernel& kernel_;
  bool held_ = false;
  bool same_ = false;
};

/// Once for each kernel. A launch may name a CUkernel where a CUfunction is asked for.
void ask_for_layout(Kernel& kernel, CUfunction function) {
  kernel.asked = true;
  const GraphApi& api = graph_api();
  if (!api.complete) return;
  const RelaxedCapture relaxed(api);
  KernelHandle handle{.function = function};
  spool::ParameterSlot slot{};
  if (!parameter(api, handle, 0, slot))
    handle = {.function = nullptr, .kernel = reinterpret_cast<CUkernel>(function)};
  std::uint16_t slots = 0;
  std::uint32_t bytes = 0;
  while (parameter(api, handle, slots, slot)) {
    if (slots == kMostSlots || slot.offset + slot.bytes > kMostBytes) return;
    kernel.slot[slots++] = slot;
    bytes = slot.offset + slot.bytes > bytes ? slot.offset + slot.bytes : bytes;
  }
  if (bytes == 0) return;
  kernel.slots = slots;
  kernel.bytes = bytes;
  const std::size_t room = kImageBytes / bytes;
  kernel.room = static_cast<std::uint32_t>(room < kMostImages ? room : kMostImages);
}

std::uint64_t hash_of(const std::byte* bytes, std::size_t count, const LaunchShape& shape) {
  std::uint64_t hash = engine::kWordHashSeed;
  const auto add = [&](std::uint64_t word) { hash = engine::with_word(hash, word); };
  for (std::size_t at = 0; at < count; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, count - at < 8 ? count - at : 8);
    add(word);
  }
  add(std::uint64_t{shape.grid.x} << 32 | shape.grid.y);
  add(std::uint64_t{shape.grid.z} << 32 | shape.shared_bytes);
  add(std::uint64_t{shape.block.x} << 32 | shape.block.y << 16 | shape.block.z);
  return hash;
}

void note_image(Kernel& kernel, const std::byte* bytes, const LaunchShape& shape) {
  const std::uint64_t hash = hash_of(bytes, kernel.bytes, shape);
  for (std::uint32_t i = 0; i < kernel.images; ++i) {
    if (kernel.image[i].hash != hash) continue;
    ++kernel.image[i].launches;
    return;
  }
  std::uint32_t place = kernel.images;
  if (kernel.images < kernel.room) {
    ++kernel.images;
  } else {
    place = kernel.next;
    kernel.next = (kernel.next + 1) % kernel.room;
  }
  kernel.image[place] = {
      .hash = hash, .first_seen = position(), .launches = 1, .shape = shape, .written = false};
  std::memcpy(kernel.arguments + std::size_t{place} * kernel.bytes, bytes, kernel.bytes);
}

void forget(Kernel& kernel) {
  kernel.asked = false;
  kernel.slots = 0;
  kernel.images = kernel.next = kernel.frames = 0;
  kernel.function.store(0, std::memory_order_release);
}

}  // namespace

void note_eager_launch(CUfunction function, const LaunchShape& shape, void** parameters,
                       void** extra) {
  if (spool_header() == nullptr || function == nullptr) return;
  const auto handle = reinterpret_cast<std::uint64_t>(function);
  Kernel* kernel = kernel_of(handle, true);
  if (kernel == nullptr) return;
  const Hold hold(*kernel, handle);
  if (!hold) return;
  if (!kernel->asked) ask_for_layout(*kernel, function);
  if (kernel->slots == 0) return;
  std::byte bytes[kMostBytes];
  std::memset(bytes, 0, kernel->bytes);
  const ArgumentSource arguments(parameters, extra);
  for (std::size_t index = 0; index < kernel->slots; ++index) {
    const spool::ParameterSlot slot = kernel->slot[index];
    const void* source = arguments.argument(index, slot.offset);
    if (source == nullptr) return;
    std::memcpy(bytes + slot.offset, source, slot.bytes);
  }
  note_image(*kernel, bytes, shape);
}

void write_eager_launches(std::uint64_t function) {
  Kernel* kernel = function == 0 ? nullptr : kernel_of(function, false);
  if (kernel == nullptr) return;
  const Hold hold(*kernel, function);
  if (!hold) return;
  // The oldest one first: once there is no room, that is the one to be replaced next.
  for (std::uint32_t i = 0; i < kernel->images && kernel->frames < kMostWritten; ++i) {
    const std::uint32_t place = (kernel->next + i) % kernel->images;
    Image& image = kernel->image[place];
    if (image.written) continue;
    Frame<spool::EagerLaunch> frame(kernel->bytes);
    if (!frame) return;
    image.written = true;
    ++kernel->frames;
    frame->function = function;
    frame->first_seen = image.first_seen;
    frame->launches = image.launches;
    frame->grid = image.shape.grid;
    frame->block = image.shape.block;
    frame->shared_bytes = image.shape.shared_bytes;
    frame->argument_bytes = kernel->bytes;
    frame.append(kernel->arguments + std::size_t{place} * kernel->bytes, kernel->bytes);
  }
}

void forget_eager_launches() {
  for (Kernel& kernel : g_kernels) {
    if (kernel.function.load(std::memory_order_relaxed) == 0) continue;
    while (kernel.busy.test_and_set(std::memory_order_acquire)) sched_yield();
    forget(kernel);
    kernel.busy.clear(std::memory_order_release);
  }
}

void drop_eager_launches_of_parent() {
  for (Kernel& kernel : g_kernels) {
    if (kernel.function.load(std::memory_order_relaxed) == 0) continue;
    kernel.busy.clear(std::memory_order_release);
    forget(kernel);
  }
}

}  // namespace attach
