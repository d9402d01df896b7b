#include "profiling/attach/preload/waits.h"

namespace attach {

WaitScope::WaitScope(spool::WaitCall call, CUstream stream) {
  spool::FileHeader* header = spool_header();
  if (header == nullptr) return;
  const std::uint32_t thread = this_thread();
  for (std::size_t probe = 0; probe < spool::kWaits; ++probe) {
    spool::Wait& wait = header->waits[(thread + probe) % spool::kWaits];
    std::uint32_t unused = 0;
    if (!wait.thread.compare_exchange_strong(unused, thread, std::memory_order_acquire)) continue;
    since_ = now();
    wait.call.store(call, std::memory_order_relaxed);
    wait.stream.store(reinterpret_cast<std::uint64_t>(stream), std::memory_order_relaxed);
    wait.since.store(since_, std::memory_order_release);
    wait_ = &wait;
    return;
  }
}

void WaitScope::goes_on_as(spool::WaitCall call) {
  if (wait_ != nullptr) wait_->call.store(call, std::memory_order_relaxed);
}

WaitScope::~WaitScope() {
  if (wait_ == nullptr) return;
  spool::FileHeader* header = spool_header();
  wait_->since.store(0, std::memory_order_relaxed);
  wait_->thread.store(0, std::memory_order_release);
  if (header == nullptr) return;
  const std::uint64_t waited = now() - since_;
  std::uint64_t longest = header->longest_wait.load(std::memory_order_relaxed);
  while (waited > longest &&
         !header->longest_wait.compare_exchange_weak(longest, waited, std::memory_order_relaxed)) {
  }
}

}  // namespace attach
