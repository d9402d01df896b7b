#include "profiling/power/power_sampler.h"

#include <chrono>
#include <utility>

namespace profiling {

PowerReader::PowerReader(const std::string& pci_bus_id, const std::string& library) {
  if (const engine::Status opened = nvml_.open(pci_bus_id, library); !opened.ok()) {
    reason_ = opened.error().message;
    return;
  }
  NvmlFieldValue power;
  power.field = kNvmlFieldPowerInstant;
  instant_power_ = nvml_.call.field_values != nullptr &&
                   nvml_.call.field_values(nvml_.device, 1, &power) == 0 && power.status == 0 &&
                   power.as_unsigned > 0;
}

std::string PowerReader::power_method() const {
  if (!reason_.empty()) return {};
  return instant_power_ ? "instant" : "mean of one second";
}

double PowerReader::power_w() const {
  if (instant_power_) {
    NvmlFieldValue power;
    power.field = kNvmlFieldPowerInstant;
    if (nvml_.call.field_values(nvml_.device, 1, &power) != 0 || power.status != 0) return -1;
    return power.as_unsigned / 1e3;
  }
  unsigned milliwatts = 0;
  return nvml_.call.power_usage(nvml_.device, &milliwatts) == 0 ? milliwatts / 1e3 : -1;
}

PowerSample PowerReader::read() const {
  PowerSample sample;
  sample.time_ns =
      std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  const auto number = [this](auto function, int which) {
    unsigned value = 0;
    return function(nvml_.device, which, &value) == 0 ? static_cast<int>(value) : -1;
  };
  sample.sm_clock_mhz = number(nvml_.call.clock, kNvmlClockSm);
  sample.memory_clock_mhz = number(nvml_.call.clock, kNvmlClockMemory);
  sample.temperature_c = number(nvml_.call.temperature, kNvmlTemperatureGpu);
  unsigned long long reasons = 0;
  if (nvml_.call.clock_reasons(nvml_.device, &reasons) == 0) sample.clock_reasons = reasons;
  sample.power_w = power_w();
  return sample;
}

struct PowerSampler::Shared : NvmlThread::Shared {
  explicit Shared(const Options& options)
      : reader(options.pci_bus_id, options.library), period(options.period) {}
  PowerReader reader;
  std::chrono::milliseconds period;
  bool resting = false;
  std::vector<PowerSample> samples;
};

PowerSampler::PowerSampler(const Options& options) : shared_(std::make_shared<Shared>(options)) {
  if (!shared_->reader.reason().empty()) return;
  thread_.emplace(shared_, [shared = shared_] { sample_until_stopped(*shared); });
}

PowerSampler::~PowerSampler() = default;

const std::string& PowerSampler::reason() const { return shared_->reader.reason(); }

const std::string& PowerSampler::driver() const { return shared_->reader.driver(); }

std::string PowerSampler::power_method() const { return shared_->reader.power_method(); }

void PowerSampler::sample_until_stopped(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  while (!shared.stop) {
    if (shared.resting) {
      shared.changed.wait(lock, [&] { return shared.stop || !shared.resting; });
      continue;
    }
    lock.unlock();  // a reading takes up to milliseconds: take() must not wait for it
    const PowerSample sample = shared.reader.read();
    lock.lock();
    shared.samples.push_back(sample);
    shared.changed.wait_for(lock, shared.period, [&] { return shared.stop; });
  }
}

void PowerSampler::rest(bool resting) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->resting = resting;
  }
  shared_->changed.notify_all();
}

std::vector<PowerSample> PowerSampler::take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->samples, {});
}

}  // namespace profiling
