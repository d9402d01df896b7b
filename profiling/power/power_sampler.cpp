#include "profiling/power/power_sampler.h"

#include <array>
#include <chrono>
#include <utility>

namespace profiling {

PowerReader::PowerReader(const std::string& pci_bus_id, const std::string& library) {
  const engine::Status opened = open(pci_bus_id, library);
  if (!opened.ok()) reason_ = opened.error().message;
}

PowerReader::~PowerReader() {
  if (initialised_) nvml_.shutdown();
}

engine::Status PowerReader::open(const std::string& pci_bus_id, const std::string& library) {
  engine::Result<NvmlLibrary> loaded = load_nvml(library);
  if (!loaded.ok()) return loaded.error();
  nvml_ = std::move(loaded).value();
  if (const NvmlReturn failed = nvml_.init(); failed != 0) {
    return nvml_.error(failed, "Starting NVML");
  }
  initialised_ = true;
  std::array<char, 80> version{};
  if (nvml_.driver_version(version.data(), version.size()) == 0) driver_ = version.data();
  const NvmlReturn found = nvml_.device_by_pci_bus_id(pci_bus_id.c_str(), &device_);
  if (found != 0) return nvml_.error(found, "Finding the device in NVML");
  NvmlFieldValue power;
  power.field = kNvmlFieldPowerInstant;
  instant_power_ = nvml_.field_values != nullptr && nvml_.field_values(device_, 1, &power) == 0 &&
                   power.status == 0 && power.as_unsigned > 0;
  return {};
}

std::string PowerReader::power_method() const {
  if (!reason_.empty()) return {};
  return instant_power_ ? "instant" : "mean of one second";
}

double PowerReader::power_w() const {
  if (instant_power_) {
    NvmlFieldValue power;
    power.field = kNvmlFieldPowerInstant;
    if (nvml_.field_values(device_, 1, &power) != 0 || power.status != 0) return -1;
    return power.as_unsigned / 1e3;
  }
  unsigned milliwatts = 0;
  return nvml_.power_usage(device_, &milliwatts) == 0 ? milliwatts / 1e3 : -1;
}

PowerSample PowerReader::read() const {
  PowerSample sample;
  const auto number = [](NvmlReturn result, unsigned value) {
    return result == 0 ? static_cast<int>(value) : -1;
  };
  sample.time_ns =
      std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  unsigned value = 0;
  NvmlReturn result = nvml_.clock(device_, kNvmlClockSm, &value);
  sample.sm_clock_mhz = number(result, value);
  result = nvml_.clock(device_, kNvmlClockMemory, &value);
  sample.memory_clock_mhz = number(result, value);
  result = nvml_.temperature(device_, kNvmlTemperatureGpu, &value);
  sample.temperature_c = number(result, value);
  unsigned long long reasons = 0;
  if (nvml_.clock_reasons(device_, &reasons) == 0) sample.clock_reasons = reasons;
  sample.power_w = power_w();
  return sample;
}

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
