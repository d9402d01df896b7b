// PyTorch's allocator tells c10's memory profiler of every block that it hands out and takes back,
// through a function of another library, which the dynamic linker binds to this library's. Called
// under the allocator's lock, so the order here is the order of the memory's owners.
#include "profiling/attach/preload/tensor_blocks.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "profiling/attach/preload/captures.h"
#include "profiling/attach/preload/python_frames.h"
#include "profiling/attach/preload/real_symbols.h"
#include "profiling/attach/preload/spin_lock.h"
#include "profiling/attach/preload/spool_file.h"

namespace attach {
namespace {

enum class State : std::uint8_t {
  Quiet,     // lives, not reported
  Ignored,   // made while a capture ran, and too many had been reported
  OfGraph,   // made while a capture ran, of the graph's own pool: is reported
  Reported,  // lives
  Gone,      // was reported, and its release too: its next owner will be
  NextOwner  // lives, is reported: where it ends, interest ends
};

struct Block {
  std::uint64_t address = 0;  // 0 = an empty place
  std::uint64_t bytes = 0;
  State state = State::Quiet;
};

/// What is beyond remains unknown, and the memory its segment's.
constexpr std::size_t kPlaces = 1 << 17;
constexpr std::size_t kMostBlocks = kPlaces / 4 * 3;
static_assert(kMostBlocks == kMostTensorMemory);
constinit Block g_blocks[kPlaces]{};
constinit std::size_t g_count = 0;
/// Captures that never end would fill the spool: 2 MiB of frames with the releases.
constexpr std::size_t kMostOfGraphs = 1 << 14;
constinit std::size_t g_of_graphs = 0;
constinit SpinLock g_lock{};

std::size_t home_of(std::uint64_t address) {
  return (address * 0x9E3779B97F4A7C15 >> 24) % kPlaces;
}

/// Where it is, or would be.
std::size_t place_of(std::uint64_t address) {
  std::size_t place = home_of(address);
  while (g_blocks[place].address != 0 && g_blocks[place].address != address)
    place = (place + 1) % kPlaces;
  return place;
}

/// Empties a place and moves up what had to step over it.
void remove(std::size_t place) {
  std::size_t next = place;
  for (;;) {
    next = (next + 1) % kPlaces;
    if (g_blocks[next].address == 0) break;
    const std::size_t from_home = (next - home_of(g_blocks[next].address)) % kPlaces;
    const std::size_t from_hole = (next - place) % kPlaces;
    if (from_home < from_hole) continue;
    g_blocks[place] = g_blocks[next];
    place = next;
  }
  g_blocks[place] = {};
  --g_count;
}

struct Reported {
  bool in_capture = false;
  bool listed = false;  // made earlier
};

void report(const Block& block, Reported as) {
  Frame<spool::TensorBlock> frame;
  if (!frame) return;
  frame->address = block.address;
  frame->bytes = block.bytes;
  frame->in_capture = as.in_capture ? 1 : 0;
  frame->listed = as.listed ? 1 : 0;
}

enum class Because : bool { OfTheCapture, OfTheProgram };

/// With the Python code that let go of the tensor: one of few, so its cost does not matter. Not for
/// what a captured step makes and drops, which is much.
void report_release(std::uint64_t address, Because because) {
  constexpr std::size_t kMostText = 2048;
  constexpr std::size_t kMostFrames = 24;
  char python[kMostText];
  std::size_t length = 0;
  if (because == Because::OfTheCapture ||
      !python_frames(python, sizeof python, kMostFrames, length))
    length = 0;
  Frame<spool::TensorBlockReleased> frame(length);
  if (!frame) return;
  frame->address = address;
  frame->python_bytes = static_cast<std::uint32_t>(length);
  frame.append(python, length);
}

void made(std::uint64_t address, std::uint64_t bytes) {
  const std::lock_guard locked(g_lock);
  Block& block = g_blocks[place_of(address)];
  const bool watched = block.address != 0 && block.state == State::Gone;
  const bool in_capture = any_capture();
  const bool of_graph = !watched && in_capture && g_of_graphs < kMostOfGraphs;
  if (block.address == 0) {
    if (g_count >= kMostBlocks) return;
    ++g_count;
  }
  block = {.address = address,
           .bytes = bytes,
           .state = watched      ? State::NextOwner
                    : of_graph   ? State::OfGraph
                    : in_capture ? State::Ignored
                                 : State::Quiet};
  if (of_graph) ++g_of_graphs;
  if (watched || of_graph) report(block, {.in_capture = in_capture});
}

void released(std::uint64_t address) {
  const std::lock_guard locked(g_lock);
  const std::size_t place = place_of(address);
  Block& block = g_blocks[place];
  if (block.address == 0) return;
  const State state = block.state;
  // Within its capture the pool keeps it, later it may go to anybody.
  const bool in_capture = any_capture();
  const bool leaves_pool = state == State::OfGraph && !in_capture;
  if (state == State::Reported || state == State::NextOwner || leaves_pool)
    report_release(address, Because::OfTheProgram);
  else if (state == State::OfGraph)
    report_release(address, Because::OfTheCapture);
  if (state == State::Reported || leaves_pool)
    block.state = State::Gone;
  else if (state != State::Gone)
    remove(place);
}

/// c10::Device, which is passed in a register.
struct Device {
  signed char type;
  signed char index;
};
constexpr signed char kCuda = 1;

using Report = void (*)(void*, std::int64_t, std::size_t, std::size_t, Device);
constinit std::atomic<Report> g_real{nullptr};

}  // namespace

void report_live_blocks() {
  if (spool_header() == nullptr) return;
  const std::lock_guard locked(g_lock);
  if (g_count == 0) return;
  for (Block& block : g_blocks) {
    if (block.address == 0) continue;
    if (block.state == State::Quiet) report(block, {.listed = true});
    if (block.state == State::Quiet || block.state == State::NextOwner)
      block.state = State::Reported;
  }
}

std::size_t living_blocks(TensorMemory* all) {
  const std::lock_guard locked(g_lock);
  std::size_t count = 0;
  for (std::size_t place = 0; g_count > 0 && place < kPlaces; ++place) {
    const Block& block = g_blocks[place];
    if (block.address != 0 && block.state != State::Gone)
      all[count++] = {.address = block.address, .bytes = block.bytes};
  }
  return count;
}

void drop_blocks_of_parent() {
  if (g_count != 0) {
    for (Block& block : g_blocks) block = {};
  }
  g_count = g_of_graphs = 0;
  g_lock.reset();
}

}  // namespace attach

// c10::reportMemoryUsageToProfiler(void*, long, unsigned long, unsigned long, c10::Device)
#define C10_REPORT "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"

extern "C" {

__attribute__((visibility("default"))) void block_hook(void* block, std::int64_t bytes,
                                                       std::size_t allocated, std::size_t reserved,
                                                       attach::Device device) asm(C10_REPORT);

void block_hook(void* block, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                attach::Device device) {
  if (block != nullptr && device.type == attach::kCuda && attach::spool_header() != nullptr) {
    const auto address = reinterpret_cast<std::uint64_t>(block);
    if (bytes > 0)
      attach::made(address, static_cast<std::uint64_t>(bytes));
    else
      attach::released(address);
  }
  attach::Report real = attach::g_real.load(std::memory_order_acquire);
  if (real == nullptr) {
    real = reinterpret_cast<attach::Report>(
        attach::defined_anywhere(C10_REPORT, reinterpret_cast<const void*>(&block_hook)));
    attach::g_real.store(real, std::memory_order_release);
  }
  if (real != nullptr) real(block, bytes, allocated, reserved, device);
}
}
