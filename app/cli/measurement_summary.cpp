#include "app/cli/measurement_summary.h"
#include "app/cli/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "profiling/power/power_summary.h"
#include "profiling/trace/roofline.h"
#include "profiling/trace/statistics.h"

namespace app::cli {
namespace {

constexpr std::array kLevels = {"every node traced", "graph launches traced", "nothing traced"};
constexpr std::array kMethods = {"records", "tile stamps", "alone on the device"};

void print_observer(const engine::Measurements& measured) {
  const auto off =
      std::ranges::find(measured.observer, engine::TraceLevel::Off, &engine::ObserverTiming::level);
  for (const engine::ObserverTiming& timing : measured.observer) {
    print("{:<12}{}: median {:.3f} ms, p5 {:.3f}, p95 {:.3f}, {} samples", "observer",
          kLevels[static_cast<std::size_t>(timing.level)], timing.median_ns / 1e6,
          timing.p5_ns / 1e6, timing.p95_ns / 1e6, timing.samples);
    if (off != measured.observer.end() && timing.level != engine::TraceLevel::Off) {
      print(", {:+.2f} %", 100.0 * (timing.median_ns / off->median_ns - 1.0));
    }
    print("\n");
  }
}

void print_ceilings(const profiling::RecordedRun& run) {
  const engine::Ceilings& ceilings = run.result.measurements.ceilings;
  if (ceilings.copies > 0) {
    print("{:<12}copy {:.0f} GB/s (read + write, {} copies of {:.0f} MiB)\n", "ceiling",
          ceilings.copy_bytes_per_s / 1e9, ceilings.copies,
          static_cast<double>(ceilings.copy_bytes) / 0x1p20);
  }
  if (ceilings.products > 0) {
    print("{:<12}{:.1f} TFLOP/s: {}, {} samples\n", "ceiling", ceilings.product_flop_per_s / 1e12,
          ceilings.product, ceilings.products);
  } else if (!ceilings.product.empty()) {
    print("{:<12}product {}\n", "ceiling", ceilings.product);
  }
  if (ceilings.products == 0) return;
  for (const profiling::RooflinePoint& point :
       profiling::roofline_points(run.result, run.activity)) {
    print("{:<12}{}: {:.1f} TFLOP/s at {:.0f} FLOP/B, {:.1f} % of the dense product\n", "roofline",
          engine::stage_name(point.stage), point.flop_per_s() / 1e12, point.work.intensity(),
          100.0 * point.flop_per_s() / ceilings.product_flop_per_s);
  }
}

void print_power(const profiling::RecordedRun& run) {
  const std::vector<engine::Iteration>& iterations = run.result.iterations;
  if (run.power.samples.empty() || iterations.empty()) return;
  const profiling::TimeSpan timed{
      .begin_ns = 0, .end_ns = iterations.back().start_ns + iterations.back().duration_ns};
  const profiling::PowerSummary power = profiling::summarize_power(run.power.samples, {&timed, 1});
  if (power.samples == 0) {
    print("{:<12}no reading fell into the timed iterations ({:.1f} ms)\n", "power",
          static_cast<double>(timed.end_ns) / 1e6);
    return;
  }
  print("{:<12}{:.0f} MHz (lowest {}), {:.0f} W (highest {:.0f}), {} C, {} readings; {}\n", "power",
        power.sm_clock_mhz, power.sm_clock_min_mhz, power.power_w, power.power_max_w,
        power.temperature_max_c, power.samples, profiling::clock_reason_names(power.clock_reasons));
}

/// Quantiles over the experts: a table of 256 rows is left to --json.
void print_experts(const engine::Measurements& measured) {
  for (const engine::ExpertMethod method :
       {engine::ExpertMethod::Trace, engine::ExpertMethod::Stamps,
        engine::ExpertMethod::Isolated}) {
    for (std::size_t stage = 0; stage < engine::kStageNames.size(); ++stage) {
      std::vector<double> medians;
      for (const engine::ExpertTiming& timing : measured.experts) {
        if (timing.method != method || timing.stage != static_cast<engine::Stage>(stage)) continue;
        medians.push_back(timing.median_ns);
      }
      const profiling::Distribution over = profiling::summarize(std::move(medians));
      if (over.n == 0) continue;
      print("{:<12}{} by {}: {} experts, {:.1f} to {:.1f} us, median {:.1f}\n", "per expert",
            engine::kStageNames[stage], kMethods[static_cast<std::size_t>(method)], over.n,
            over.minimum / 1e3, over.maximum / 1e3, over.median / 1e3);
    }
  }
}

}  // namespace

void print_measurements(const profiling::RecordedRun& run) {
  print_observer(run.result.measurements);
  print_ceilings(run);
  print_power(run);
  print_experts(run.result.measurements);
}

}  // namespace app::cli
