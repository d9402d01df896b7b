// Event arithmetic of the iteration clock.
#include "engine/linear/iteration_clock.h"

#include <chrono>
#include <cmath>
#include <thread>

namespace engine {

Result<IterationClock> IterationClock::create(ReplayWatchdog* watchdog) {
  IterationClock clock;
  clock.watchdog_ = watchdog;
  for (Pair& pair : clock.pairs_) {
    ENGINE_ASSIGN(pair.start, make_timing_event());
    ENGINE_ASSIGN(pair.end, make_timing_event());
  }
  return clock;
}

Status IterationClock::begin(cudaStream_t stream) {
  const bool alone = watchdog_ != nullptr && watchdog_->one_at_a_time();
  while (begun_ - finished() >= (alone ? 1 : kInFlight)) ENGINE_TRY(read_next());
  if (alone) watchdog_->begins();
  const Pair& pair = pairs_[static_cast<std::size_t>(begun_ % kPairs)];
  return check_cuda(cudaEventRecord(pair.start.get(), stream),
                    "Recording the start of an iteration");
}

Status IterationClock::end(cudaStream_t stream) {
  const Pair& pair = pairs_[static_cast<std::size_t>(begun_ % kPairs)];
  ++begun_;
  return check_cuda(cudaEventRecord(pair.end.get(), stream), "Recording the end of an iteration");
}

Status IterationClock::finish() {
  while (finished() < begun_) ENGINE_TRY(read_next());
  return {};
}

Status IterationClock::wait(cudaEvent_t end) const {
  if (watchdog_ != nullptr) return watchdog_->wait(end);
  return check_cuda(cudaEventSynchronize(end), "Waiting for an iteration");
}

Status IterationClock::read_next() {
  const int index = finished();
  const Pair& pair = pairs_[static_cast<std::size_t>(index % kPairs)];
  ENGINE_TRY(wait(pair.end.get()));
  if (index > 0) {
    // From start to start: as a float, the difference from the first start would lose nanoseconds
    // after some seconds.
    const Pair& before = pairs_[static_cast<std::size_t>((index - 1) % kPairs)];
    ENGINE_ASSIGN(const double since, elapsed_ns(before.start, pair.start));
    start_ns_ += since;
  }
  ENGINE_ASSIGN(const double took, elapsed_ns(pair.start, pair.end));
  if (watchdog_ != nullptr) watchdog_->finished(took * 1e-9);
  iterations_.push_back({.start_ns = std::llround(start_ns_), .duration_ns = std::llround(took)});
  return {};
}

Result<IterationConditions> IterationConditions::create(const MeasureOptions& options) {
  IterationConditions conditions;
  conditions.rest_ = options.pace == Pace::Burst;
  if (options.cache == CacheMode::Warm) return conditions;
  int device = 0;
  int cache_bytes = 0;
  ENGINE_CUDA_TRY(cudaGetDevice(&device), "Reading the size of the L2 cache");
  ENGINE_CUDA_TRY(cudaDeviceGetAttribute(&cache_bytes, cudaDevAttrL2CacheSize, device),
                  "Reading the size of the L2 cache");
  ENGINE_ASSIGN(conditions.flush_, DeviceBuffer::allocate(std::int64_t{2} * cache_bytes,
                                                          {AllocationRole::Check, "cache flush"}));
  return conditions;
}

Status IterationConditions::before(cudaStream_t stream) const {
  if (rest_) {
    ENGINE_CUDA_TRY(cudaStreamSynchronize(stream), "Waiting for an iteration");
    std::this_thread::sleep_for(std::chrono::milliseconds(kBurstIdleMs));
  }
  if (!flush_) return {};
  return check_cuda(cudaMemsetAsync(flush_.data(), 0, flush_.bytes(), stream),
                    "Clearing the L2 cache");
}

}  // namespace engine
