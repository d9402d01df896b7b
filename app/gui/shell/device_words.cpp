#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/shell/bars.h"
#include "engine/model/backend_traits.h"
#include "engine/model/run_request.h"

namespace app {
namespace {

// A device at rest wanders by a watt or two between readings; that is no news.
constexpr double kPowerStepW = 5;

/// Null = some CUDA backend is available, or the worker offers none at all.
const BackendOffer* refused_gpu(const WorkerHello& hello) {
  const BackendOffer* refused = nullptr;
  for (const BackendOffer& offer : hello.backends) {
    if (!engine::traits_of(offer.kind).device) continue;
    if (offer.available) return nullptr;
    refused = &offer;
  }
  return refused;
}

void add(std::string& line, const std::string& part) {
  if (!line.empty()) line += " · ";
  line += part;
}

DeviceWords words_of(const profiling::PowerSample& sample, const std::string& method) {
  DeviceWords words;
  if (sample.sm_clock_mhz >= 0) add(words.line, fmt::format("{} MHz", sample.sm_clock_mhz));
  if (sample.power_w >= 0) {
    add(words.line,
        fmt::format("{:.0f} W", std::round(sample.power_w / kPowerStepW) * kPowerStepW));
  }
  if (sample.temperature_c >= 0) add(words.line, fmt::format("{} °C", sample.temperature_c));
  if (words.line.empty()) words.line = "clock and power: the driver does not tell";
  const std::string reasons = profiling::clock_reason_names(sample.clock_reasons);
  words.tooltip = fmt::format(
      "SM clock, power and temperature of the device between runs, read twice a second through "
      "NVML while this window is seen, and never during a run.\nPower: {}, to the next {:.0f} W. "
      "Held back by: {}.",
      method, kPowerStepW, reasons.empty() ? "nothing" : reasons);
  return words;
}

}  // namespace

DeviceWords device_words(const LinkStatus& link, const std::optional<WorkerHello>& hello) {
  if (!hello || link.state == LinkState::Lost || link.state == LinkState::Busy) return {};
  if (const BackendOffer* refused = refused_gpu(*hello)) {
    return {.line = "no GPU: " + refused->reason,
            .tooltip = "No GPU: " + refused->reason +
                       ".\nRuns use the CPU reference; clock and power are read from NVIDIA "
                       "devices only."};
  }
  if (!link.pulse.reading) return {};
  const profiling::PowerTrace& reading = *link.pulse.reading;
  if (!reading.samples.empty()) return words_of(reading.samples.back(), reading.method);
  return {.line = "no clock or power: " + reading.missing,
          .tooltip = "Clock and power are not known: " + reading.missing};
}

}  // namespace app
