#include "app/worker/run_power.h"

namespace app {
namespace {

// 50 Hz. NVML takes about a millisecond per reading, on a separate thread.
constexpr std::chrono::milliseconds kSamplePeriod{20};

}  // namespace

RunPower::RunPower(const std::string& pci_bus_id) {
  if (pci_bus_id.empty()) {
    missing_ = "clock and power are read from NVIDIA devices only";
    return;
  }
  sampler_ = std::make_unique<profiling::PowerSampler>(
      profiling::PowerSampler::Options{.pci_bus_id = pci_bus_id, .period = kSamplePeriod});
  missing_ = sampler_->reason();
  sampler_->rest(true);
}

void RunPower::begin() {
  if (!sampler_) return;
  (void)sampler_->take();
  sampler_->rest(false);
}

profiling::PowerTrace RunPower::end(std::int64_t origin_ns) {
  profiling::PowerTrace trace{.method = {}, .missing = missing_, .samples = {}};
  if (!sampler_) return trace;
  sampler_->rest(true);
  if (!missing_.empty() || origin_ns == 0) return trace;
  trace.method = sampler_->power_method();
  trace.samples = sampler_->take();
  for (profiling::PowerSample& sample : trace.samples) sample.time_ns -= origin_ns;
  return trace;
}

}  // namespace app
