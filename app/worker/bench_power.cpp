#include "app/worker/bench_power.h"

#include <algorithm>

namespace app {
namespace {

// NVML takes about a millisecond per reading. A row occupies the device for a small share of a
// shape's time, so readings must be closely spaced for some to fall into it.
constexpr std::chrono::milliseconds kPowerPeriod{10};

}  // namespace

BenchPower::BenchPower(const std::string& pci_bus_id) {
  if (pci_bus_id.empty()) {
    missing_ = "clock and power are read from NVIDIA devices only";
    return;
  }
  sampler_ = std::make_unique<profiling::PowerSampler>(
      profiling::PowerSampler::Options{.pci_bus_id = pci_bus_id, .period = kPowerPeriod});
  missing_ = sampler_->reason();
}

void BenchPower::describe(BenchStart& start) const {
  start.power_method = sampler_ ? sampler_->power_method() : std::string();
  start.power_missing = missing_;
  if (sampler_ && !sampler_->driver().empty()) start.device.driver = sampler_->driver();
}

void BenchPower::take() {
  if (sampler_) samples_ = sampler_->take();
}

BenchPower::Readings BenchPower::of(const std::vector<engine::MeasuredSpan>& row,
                                    const std::vector<engine::MeasuredSpan>& shape) const {
  if (row.empty()) return {};
  std::vector<profiling::TimeSpan> spans;
  for (const auto& [begin, end] : row) spans.push_back({begin, end});
  Readings readings{.power = profiling::summarize_power(samples_, spans)};
  if (readings.power.samples > 0) return readings;
  profiling::TimeSpan whole{shape.front().begin_ns, shape.front().end_ns};
  for (const auto& [begin, end] : shape) {
    whole = {std::min(whole.begin_ns, begin), std::max(whole.end_ns, end)};
  }
  readings.power = profiling::summarize_power(samples_, {&whole, 1});
  readings.of_shape = readings.power.samples > 0;
  return readings;
}

}  // namespace app
