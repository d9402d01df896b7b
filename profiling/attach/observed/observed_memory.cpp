// Which memory a program had when: its ledger.
#include "profiling/attach/observed/observed_process.h"

#include <fmt/format.h>
#include <algorithm>
#include <string>
#include <utility>

#include "profiling/attach/observed/stack_words.h"
#include "profiling/hazards/snapshot/segments.h"

namespace profiling {
namespace {

constexpr std::size_t kMostLedger = 400'000;  // then what was released long ago goes
constexpr std::size_t kMostMade = 1 << 15;    // of one capture

engine::MemorySpace space_of(spool::MemoryKind memory) {
  switch (memory) {
    case spool::MemoryKind::Managed:
      return engine::MemorySpace::Managed;
    case spool::MemoryKind::PinnedHost:
    case spool::MemoryKind::RegisteredHost:
      return engine::MemorySpace::PinnedHost;
    default:
      return engine::MemorySpace::Device;
  }
}
/// The call that a program makes for such memory.
std::string_view call_of(spool::MemoryKind memory) {
  switch (memory) {
    case spool::MemoryKind::Managed:
      return "cudaMallocManaged";
    case spool::MemoryKind::PinnedHost:
      return "cudaMallocHost";
    case spool::MemoryKind::RegisteredHost:
      return "cudaHostRegister";
    case spool::MemoryKind::Pool:
      return "cudaMallocAsync";
    case spool::MemoryKind::Mapped:
      return "cuMemMap";
    case spool::MemoryKind::Ipc:
      return "cudaIpcOpenMemHandle";
    default:
      return "cudaMalloc";
  }
}
}  // namespace

void ObservedProcess::take_allocation(const SpoolFrame& frame) {
  spool::Allocation made{};
  // Memory that a captured call allocates is the graph's own; its nodes say so.
  if (!frame.read(made) || made.in_capture != 0 || made.address == 0) return;
  if (made.bytes > ~made.address) return;
  allocate(live_, when_of(frame),
           {.address = made.address,
            .bytes = made.bytes,
            .space = space_of(made.memory),
            .owner = std::string(call_of(made.memory))});
  // A private pool grows by calls of the thread that captures.
  if (Capture* capture = capture_of(frame.thread, Sure::ItsThread)) belongs_to(*capture);
}

void ObservedProcess::take_block(const SpoolFrame& frame) {
  spool::TensorBlock made{};
  if (!frame.read(made) || made.address == 0 || made.bytes > ~made.address) return;
  allocate(live_blocks_, {.position = frame.position, .time = made.listed != 0 ? 0 : frame.time},
           {.address = made.address,
            .bytes = made.bytes,
            .space = engine::MemorySpace::Device,
            .role = engine::AllocationRole::Cached,
            .owner = "tensor"});
  if (made.in_capture == 0) return;
  // A backward pass allocates in threads of its own.
  if (Capture* capture = capture_of(frame.thread, Sure::OrTheOnlyOne)) belongs_to(*capture);
}

ObservedProcess::Capture* ObservedProcess::capture_of(std::uint32_t thread, Sure sure) {
  for (auto& [stream, capture] : open_captures_) {
    if (capture.thread == thread) return &capture;
  }
  const bool only = sure == Sure::OrTheOnlyOne && open_captures_.size() == 1;
  return only ? &open_captures_.begin()->second : nullptr;
}

void ObservedProcess::belongs_to(Capture& capture) {
  ledger_.back().made_for = fmt::format("capture {}", capture.number);
  if (capture.made.size() < kMostMade) capture.made.push_back(ledger_.back().id);
}

void ObservedProcess::name_owner(const Capture& capture, const std::string& graph) {
  for (const std::uint64_t id : capture.made) {
    const auto block = std::ranges::lower_bound(ledger_, id, {}, &engine::Allocation::id);
    if (block != ledger_.end() && block->id == id) block->made_for = graph;
  }
}

bool ObservedProcess::kept_by_pool(const engine::Allocation& block) const {
  if (!is_pool_block(block)) return false;
  return std::ranges::none_of(graphs_, [&](const auto& one) {
    return one.second.graph.name == block.made_for && one.second.graph.destroyed_at != 0;
  });
}

void ObservedProcess::allocate(Live& live, When made, engine::Allocation block) {
  release(live, {.position = made.position}, block.address);
  if (ledger_.size() >= kMostLedger) forget_oldest();
  block.id = ledger_.empty() ? 1 : ledger_.back().id + 1;
  block.owner += fmt::format(" {}", block.id);
  block.allocated_at = made.position;
  live[block.address] = ledger_.size();
  ledger_.push_back(std::move(block));
  ledger_times_.push_back({.allocated = made.time});
}

void ObservedProcess::take_release(const SpoolFrame& frame) {
  spool::Release released{};
  if (!frame.read(released) || released.in_capture != 0) return;
  if (released.bytes == 0) {
    release(live_, when_of(frame), released.address);
    return;
  }
  // One call may unmap several neighbouring blocks.
  auto block = live_.lower_bound(released.address);
  while (block != live_.end() && block->first - released.address < released.bytes) {
    end_of(block->second, when_of(frame));
    block = live_.erase(block);
  }
}

void ObservedProcess::take_block_released(const SpoolFrame& frame) {
  spool::TensorBlockReleased released{};
  if (!frame.read(released)) return;
  engine::Allocation* block = release(live_blocks_, when_of(frame), released.address);
  if (block != nullptr)
    block->freed_where = python_words(frame.text_after(sizeof released, 0, released.python_bytes));
}

engine::Allocation* ObservedProcess::release(Live& live, When gone_at, std::uint64_t address) {
  const auto block = live.find(address);
  if (block == live.end()) return nullptr;
  engine::Allocation& gone = end_of(block->second, gone_at);
  live.erase(block);
  return &gone;
}

engine::Allocation& ObservedProcess::end_of(std::size_t place, When gone_at) {
  ledger_times_[place].released = gone_at.time;
  ledger_[place].freed_at = gone_at.position;
  return ledger_[place];
}

void ObservedProcess::forget_oldest() {
  // The older half of what was released goes: a graph that still used it would have been found by
  // now.
  const std::size_t released = ledger_.size() - live_.size() - live_blocks_.size();
  std::vector<engine::Allocation> kept;
  std::vector<BlockTimes> kept_times;
  live_.clear();
  live_blocks_.clear();
  std::size_t to_forget = released / 2;
  for (std::size_t place = 0; place < ledger_.size(); ++place) {
    engine::Allocation& block = ledger_[place];
    if (!block.live() && to_forget > 0) {
      --to_forget;
      continue;
    }
    if (block.live()) {
      (block.role == engine::AllocationRole::Cached ? live_blocks_ : live_)[block.address] =
          kept.size();
    }
    kept.push_back(std::move(block));
    kept_times.push_back(ledger_times_[place]);
  }
  ledger_ = std::move(kept);
  ledger_times_ = std::move(kept_times);
}
}  // namespace profiling
