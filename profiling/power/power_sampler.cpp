#include "profiling/power/power_sampler.h"

#include <utility>

namespace profiling {

PowerSampler::PowerSampler(const Options& options)
    : reader_(options.pci_bus_id, options.library), period_(options.period) {
  if (!reader_.reason().empty()) return;
  thread_ = engine::GuardedThread([this] { sample_until_stopped(); },
                                  [](const engine::Error&) {});  // then there are fewer samples
}

PowerSampler::~PowerSampler() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void PowerSampler::sample_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (resting_) {
      stopped_.wait(lock, [this] { return stop_ || !resting_; });
      continue;
    }
    lock.unlock();  // a reading takes up to milliseconds: take() must not wait for it
    const PowerSample sample = reader_.read();
    lock.lock();
    samples_.push_back(sample);
    stopped_.wait_for(lock, period_, [this] { return stop_; });
  }
}

void PowerSampler::rest(bool resting) {
  {
    const std::lock_guard lock(mutex_);
    resting_ = resting;
  }
  stopped_.notify_all();
}

std::vector<PowerSample> PowerSampler::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(samples_, {});
}

}  // namespace profiling
