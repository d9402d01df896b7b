#include "profiling/document/power_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/model/counted.h"
#include "profiling/power/step_times.h"

namespace profiling {
namespace {

/// "58 readings", and of how many values the sensor's, where it repeats them.
std::string readings_text(std::size_t readings, const PowerRefreshes& refreshes, bool repeats) {
  std::string text = engine::counted(readings, "reading");
  if (repeats) text += fmt::format(" ({} of power)", engine::counted(refreshes.count, "value"));
  return text;
}

}  // namespace

std::string refresh_sentence(const PowerRefreshes& refreshes) {
  const std::string interval = refresh_interval_text(refreshes);
  if (interval.empty()) return {};
  return fmt::format(
      "The power sensor refreshes {} and holds its value in between: the power of a shorter "
      "step is unknown.",
      interval);
}

std::string power_text(std::span<const PowerSample> samples,
                       std::span<const engine::Iteration> iterations) {
  const TimeSpan timed = timed_span(iterations);
  const PowerSummary power = summarize_power(samples, {&timed, 1});
  const std::string reasons = clock_reason_names(power.clock_reasons);
  const PowerRefreshes refreshes = power_refreshes(samples);
  const auto in_time = [&](const PowerSample& sample) { return timed.holds(sample.time_ns); };
  const auto first = std::ranges::find_if(samples, in_time);
  const std::span<const PowerSample> inside(first, static_cast<std::size_t>(power.samples));
  std::string text =
      power.samples == 0
          ? fmt::format("no reading fell into the timed iterations ({:.1f} ms)",
                        static_cast<double>(timed.end_ns) / 1e6)
          : fmt::format(
                "{:.0f} MHz (lowest {}), {:.0f} W (highest {:.0f}), {} C, {} in "
                "the timed iterations{}{}",
                power.sm_clock_mhz, power.sm_clock_min_mhz, power.power_w, power.power_max_w,
                power.temperature_max_c,
                readings_text(inside.size(), power_refreshes(inside), refreshes.repeats),
                reasons.empty() ? "" : "; ", reasons);
  const auto with_sentence = [&](const std::string& facts) {
    const std::string sentence = refresh_sentence(refreshes);
    return sentence.empty() ? facts : facts + ". " + sentence;
  };
  // The window's curve and the CSV have these too.
  if (samples.size() == inside.size()) return with_sentence(text);
  const TimeSpan whole{.begin_ns = samples.front().time_ns, .end_ns = samples.back().time_ns};
  const PowerSummary run = summarize_power(samples, {&whole, 1});
  text +=
      fmt::format("; whole run: {}", readings_text(samples.size(), refreshes, refreshes.repeats));
  if (run.power_max_w >= 0) text += fmt::format(", highest {:.0f} W", run.power_max_w);
  return with_sentence(text);
}

}  // namespace profiling
