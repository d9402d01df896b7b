#include "profiling/document/power_words.h"

#include <fmt/format.h>

#include "engine/model/counted.h"
#include "profiling/power/step_times.h"

namespace profiling {

std::string power_text(std::span<const PowerSample> samples,
                       std::span<const engine::Iteration> iterations) {
  const TimeSpan timed = timed_span(iterations);
  const PowerSummary power = summarize_power(samples, {&timed, 1});
  const std::string reasons = clock_reason_names(power.clock_reasons);
  std::string text =
      power.samples == 0
          ? fmt::format("no reading fell into the timed iterations ({:.1f} ms)",
                        static_cast<double>(timed.end_ns) / 1e6)
          : fmt::format(
                "{:.0f} MHz (lowest {}), {:.0f} W (highest {:.0f}), {} C, {} in "
                "the timed iterations{}{}",
                power.sm_clock_mhz, power.sm_clock_min_mhz, power.power_w, power.power_max_w,
                power.temperature_max_c, engine::counted(power.samples, "reading"),
                reasons.empty() ? "" : "; ", reasons);
  // The window's curve and the CSV have these too.
  if (samples.size() == static_cast<std::size_t>(power.samples)) return text;
  const TimeSpan whole{.begin_ns = samples.front().time_ns, .end_ns = samples.back().time_ns};
  const PowerSummary run = summarize_power(samples, {&whole, 1});
  text += fmt::format("; whole run: {}", engine::counted(samples.size(), "reading"));
  if (run.power_max_w >= 0) text += fmt::format(", highest {:.0f} W", run.power_max_w);
  return text;
}

}  // namespace profiling
