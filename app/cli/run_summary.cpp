#include "app/cli/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "app/cli/terminal.h"
#include "app/controllers/request_actions.h"
#include "app/gui/plot/format.h"
#include "engine/model/projections.h"
#include "profiling/power/power_summary.h"
#include "profiling/power/step_times.h"
#include "profiling/trace/replay_sums.h"
#include "profiling/trace/roofline.h"
#include "profiling/trace/statistics.h"

namespace app::cli {

namespace {

constexpr std::size_t kShownExperts = 32;  // a screenful; --json has all of them
constexpr std::size_t kSlowestSteps = 5;   // likewise

/// What quantizing each operand did to it, whatever the tensors before it had lost already.
void print_operands(const engine::RunResult& result) {
  for (const engine::TensorResult& one : result.tensors) {
    if (!one.quantization || one.quantization->elements == 0) continue;
    print("{:<12}{} {}\n", "quantizing", engine::tensor_symbol(result.effective.step, one.tensor),
          loss_text(*one.quantization));
  }
}

void print_algorithms(const engine::RunResult& result) {
  for (const engine::AlgorithmChoice& choice : result.algorithms) {
    print("{:<12}{}: candidate {} of {} at {:.1f} us; the heuristic's first takes {:.1f} us\n",
          "algorithm", engine::name_of(choice.product), choice.chosen + 1, choice.candidates,
          choice.chosen_us, choice.first_us);
  }
}

void print_replays(const engine::RunResult& result) {
  const engine::GraphFacts& graph = result.graph;
  if (graph.kernels > 0) {
    print(
        "{:<12}{} kernels, {} memsets, {} copies, {} allocations, {} host calls; {:.1f} us to "
        "launch on the host\n",
        "graph", graph.kernels, graph.memsets, graph.copies, graph.allocations, graph.host_calls,
        static_cast<double>(graph.host_launch_ns) / 1000.0);
  }
  for (const engine::StepGraph& one : result.graphs) {
    print("{:<12}{}: {} kernels; {:.1f} us, {:.1f} us to launch\n", "", one.name,
          one.contents.kernels, one.median_us,
          static_cast<double>(one.contents.host_launch_ns) / 1000.0);
  }
  if (const engine::GraphMemoryFacts& memory = result.graph_memory; memory.pools > 0) {
    print("{:<12}{} bytes in {}, {} without sharing\n", "graph pool", memory.bytes,
          memory.pools == 1 ? std::string("one pool") : fmt::format("{} pools", memory.pools),
          memory.unshared_bytes);
  }
  if (const engine::ReplayWatchFacts& watch = result.watch; watch.replays > 0) {
    print("{:<12}{} replays, 99 % of them within {:.1f} us; {}; {}\n", "watchdog", watch.replays,
          watch.p99_us,
          watch.deadline_seconds > 0.0 ? fmt::format("deadline {:.2f} s", watch.deadline_seconds)
                                       : std::string("no deadline"),
          watch.markers > 0 ? fmt::format("markers after {} nodes", watch.markers)
                            : std::string("no markers"));
  }
  std::size_t wrong = 0;
  for (const engine::ReplayCheck& check : result.replay_checks) {
    if (check.wrong_experts.empty()) continue;
    if (wrong++ == 0) {
      print("{:<12}replay {}, {}{} of {}: {} experts differ, first {}\n", "wrong", check.replay,
            check.micro_batch > 0 ? fmt::format("micro-batch {}, ", check.micro_batch + 1) : "",
            engine::name_of(check.product), engine::layer_words(result.effective.step, check.layer),
            check.wrong_experts.size(), check.wrong_experts.front());
    }
  }
  if (result.replay_checks.empty()) return;
  print("{:<12}{} of {} checks differ from the eager step\n", "replays", wrong,
        result.replay_checks.size());
}

void print_experts(const engine::RunResult& result) {
  if (result.experts.empty()) return;
  print("\n{:>6} {:>9} {:>12} {:>12} {:>9}", "expert", "rows", "SNR of Y", "max error", "lost");
  if (result.backward) print(" {:>12} {:>12}", "SNR of dX", "SNR of dW");
  print("\n");
  for (std::size_t e = 0; e < std::min(result.experts.size(), kShownExperts); ++e) {
    const engine::ExpertResult& expert = result.experts[e];
    const double error = expert.fprop.max_abs_error;
    print("{:>6} {:>9} {:>12} {:>12} {:>9}", e, expert.rows, engine::snr_text(expert.fprop),
          std::isnan(error) ? "none" : fmt::format("{:.4g}", error), expert.fprop.lost);
    if (result.backward) {
      print(" {:>12} {:>12}", engine::snr_text(expert.dgrad), engine::snr_text(expert.wgrad));
    }
    print("\n");
  }
}

void print_tensors(const engine::RunResult& result) {
  if (result.tensors.empty()) return;
  const engine::StepKind step = result.effective.step;
  const bool layer = result.expert_layer.has_value();
  const auto bytes = [](const engine::TensorResult& one, std::int64_t count) {
    if (!one.has_bytes()) return std::string("n/a");
    return count == 0 ? "none" : plot::bytes_text(static_cast<std::uint64_t>(count));
  };
  // Of an expert layer two errors: of all that came before in this step, and of quantizing this
  // tensor alone.
  print("\n{:>7} {:>9} {:>9} {}{:>14} {:>10} {:>10}{}\n", "tensor", "rows", "columns",
        layer ? fmt::format("{:>14} ", "SNR in layer") : "", "of quantizing", "bytes", "kept",
        layer ? fmt::format(" {:>9}", "lost") : "");
  for (const engine::TensorResult& one : result.tensors) {
    const bool operand = one.quantization && one.quantization->elements > 0;
    print("{:>7} {:>9} {:>9} {}{:>14} {:>10} {:>10}{}\n", engine::tensor_symbol(step, one.tensor),
          one.rows, one.columns, layer ? fmt::format("{:>14} ", engine::snr_text(one.error)) : "",
          operand ? engine::snr_text(*one.quantization) : "", bytes(one, one.bytes),
          bytes(one, one.saved_bytes), layer ? fmt::format(" {:>9}", one.error.lost) : "");
  }
}

/// What the quantization of each operand of an expert layer costs Y.
void print_error_sources(const engine::RunResult& result) {
  const engine::TensorResult* const y = engine::find_tensor(result, engine::StepTensor::Y);
  const auto measured = [](const engine::TensorResult& one) {
    return one.unquantized_y.has_value();
  };
  if (!result.expert_layer || y == nullptr || std::ranges::none_of(result.tensors, measured))
    return;
  print("\nSNR of Y: {}; all unquantized: {}\n", engine::snr_text(y->error),
        engine::snr_text(result.expert_layer->unquantized_snr_db,
                         result.expert_layer->unquantized_left_out));
  for (const engine::TensorResult& one : result.tensors) {
    if (!measured(one)) continue;
    // Infinite or none where one of the two is exact or leaves everything out.
    const double gain = one.unquantized_y->snr_db - y->error.snr_db;
    print("{:>7} left unquantized: {}{}\n", engine::traits_of(one.tensor).symbol,
          engine::snr_text(one.unquantized_y->snr_db, one.unquantized_y->left_out),
          std::isfinite(gain) ? fmt::format(" ({:+.1f} dB)", gain) : std::string());
  }
}

/// "median 0.301 ms ±0.8 %, p5 0.298, p95 0.310, 50 samples"
std::string samples_text(std::vector<double> durations_ns) {
  const std::string precision = profiling::median_precision(durations_ns);
  const profiling::Distribution time = profiling::summarize(std::move(durations_ns));
  return fmt::format("median {:.3f} ms{}, p5 {:.3f}, p95 {:.3f}, {} samples", time.median / 1e6,
                     precision.empty() ? "" : " " + precision, time.p5 / 1e6, time.p95 / 1e6,
                     time.n);
}

/// How many samples the device took below the clock that was asked for, and what the others say.
void print_throttled(const profiling::StepTimes& times) {
  if (times.throttled_count == 0) return;
  print("{:<12}{} of {} samples ({})", "throttled", times.throttled_count,
        times.durations_ns.size(), profiling::clock_reason_names(times.reasons));
  if (times.mixed()) print("; without them: {}", samples_text(times.counted_ns(true)));
  print("\n");
}

void print_times(const profiling::RecordedRun& run) {
  const engine::RunResult& result = run.result;
  const profiling::StepTimes times = profiling::step_times(result.iterations, run.power.samples);
  const profiling::Distribution time = profiling::summarize(times.durations_ns);
  if (time.n == 0) return;
  print("{:<12}{} ({})\n", "step", samples_text(times.durations_ns), result.iteration_method);
  print_throttled(times);
  if (const std::string end = profiling::iteration_end_text(result); !end.empty()) {
    print("{:<12}{}\n", "median", end);
  }
  const plot::Quantity rate = plot::flop_rate(1e9 * result.flop / time.median);
  print("{:<12}{} at the median{}\n", "rate", rate.text(),
        result.recording && result.recording->steps.size() > 1 ? ", work as in the mean step" : "");
}

/// A routing from a file: what it was, and its slowest steps.
void print_recording(const engine::RunResult& result) {
  if (!result.recording) return;
  const engine::RecordedRouting& recording = *result.recording;
  const auto& steps = recording.steps;
  std::int64_t dropped = 0;
  for (const engine::RecordedStep& step : steps) dropped += step.dropped;
  print("{:<12}{}; layer {} of {}, {} of {} steps{}\n", "recording", recording.source,
        result.effective.routing.layer, recording.layers, steps.size(), recording.file_steps,
        dropped == 0
            ? ""
            : fmt::format(", {} choice{} without an expert", dropped, dropped == 1 ? "" : "s"));
  const std::vector<std::size_t> slowest = engine::slowest_steps(recording, kSlowestSteps);
  if (steps.size() < 2) return;
  const auto reached = std::ranges::count_if(
      steps, [](const engine::RecordedStep& step) { return step.visits > 0; });
  if (std::cmp_less(reached, steps.size())) {
    print("{:<12}{} of {} steps were reached; set launch.iterations to {} to reach all\n", "steps",
          reached, steps.size(), steps.size());
  }
  print("{:<12}SNR {}\n", "steps", recording.numerics);
  for (const std::size_t index : slowest) {
    const engine::RecordedStep& step = steps[index];
    print("{:<12}step {}: {:.3f} ms{}, {} rows, imbalance {:.2f}, SNR of Y {}\n", "slowest",
          step.step, step.median_ns / 1e6,
          step.visits > 1 ? fmt::format(" (median of {})", step.visits) : std::string(), step.rows,
          step.imbalance,
          std::isnan(step.y_snr_db) && step.y_left_out == 0
              ? "not measured"
              : engine::snr_text(step.y_snr_db, step.y_left_out));
  }
}

void print_gaps(const profiling::Activity& activity) {
  const auto gaps =
      profiling::summarize_gaps(profiling::sum_replays(activity), profiling::kAllTime);
  if (!gaps) return;
  print("{:<12}the device idles {:.1f} us per step (median, {:.2f} %), longest gap {:.1f} us\n",
        "gaps", gaps->gaps.median / 1e3, 100 * gaps->median_share,
        static_cast<double>(gaps->longest_ns) / 1e3);
}

// ---- What was measured besides the iterations --------------------------------------------------

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
      print(", {} %", plot::percent_change(timing.median_ns / off->median_ns, 2));
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
void print_expert_times(const engine::Measurements& measured) {
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

void print_summary(const profiling::RecordedRun& run) {
  const engine::RunResult& result = run.result;
  const engine::ShapeSpec& shape = result.effective.shape;
  print("{:<12}{}\n", "request", summary_of(run.request));
  print("{:<12}{}\n", "device", result.device.name);
  print("{:<12}{}{} experts, {} tokens, n {}, k {}\n", "shape",
        shape.preset.empty() ? "" : shape.preset + ": ", shape.num_experts, shape.rows, shape.n,
        shape.k);
  for (const engine::Deviation& deviation : result.deviations) {
    print("{:<12}{}: {} instead of {}: {}\n", "deviation", deviation.field, deviation.effective,
          deviation.requested, deviation.reason);
  }
  print_times(run);
  print_recording(result);
  print_operands(result);
  print_algorithms(result);
  print("{:<12}{} ({}), {} dropped\n", "records", run.activity.records.size(),
        result.activity_method, result.dropped_records);
  print_gaps(run.activity);
  print_observer(result.measurements);
  print_ceilings(run);
  print_power(run);
  print_expert_times(result.measurements);
  print_replays(result);
  print_tensors(result);
  print_error_sources(result);
  print_experts(result);
  if (result.experts.size() > kShownExperts) {
    print("{:>6} {} more; --json prints all\n", "", result.experts.size() - kShownExperts);
  }
}

}  // namespace app::cli
