#include "profiling/document/run_document.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>
#include <utility>
#include <vector>

#include "engine/model/counted.h"
#include "engine/model/projections.h"
#include "profiling/document/algorithm_text.h"
#include "profiling/document/channel_words.h"
#include "profiling/document/headline.h"
#include "profiling/document/iteration_words.h"
#include "profiling/document/power_words.h"
#include "profiling/document/quantity.h"
#include "profiling/document/ranked_steps_table.h"
#include "profiling/document/roof_sentence.h"
#include "profiling/document/run_tables.h"
#include "profiling/power/power_summary.h"
#include "profiling/power/step_times.h"
#include "profiling/trace/replay_sums.h"
#include "profiling/trace/roofline.h"

namespace profiling {
namespace {

using engine::counted;

constexpr std::array kLevels = {"every node traced", "graph launches traced", "nothing traced"};

/// "median 0.301 ms ±0.8 %, p5 0.298, p95 0.310, 50 samples"
std::string samples_text(std::vector<double> durations_ns) {
  const MedianPrecision precision = median_precision(durations_ns);
  const Distribution time = summarize(std::move(durations_ns));
  return fmt::format("median {:.3f} ms{}, p5 {:.3f}, p95 {:.3f}, {}", time.median / 1e6,
                     precision.text.empty() ? ""
                     : precision.vague      ? " (95 % interval " + precision.text + ")"
                                            : " " + precision.text,
                     time.p5 / 1e6, time.p95 / 1e6, counted(time.n, "sample"));
}

class RunWriter {
 public:
  RunWriter(const RecordedRun& run, Document& document)
      : run_(run), result_(run.result), document_(document) {}

  void write(const std::string& summary) {
    settings(summary);
    times();
    recorded_routing();
    accuracy();
    trace();
    measurements();
    graphs();
    // Facts come before what is larger: a terminal shows them together.
    step_chart();
    document_.table(step_graphs_table(result_));
    recorded_steps();
    operand_charts();
    document_.table(tensors_table(result_));
    document_.table(error_sources_table(result_));
    expert_charts();
    document_.table(experts_table(run_));
    document_.table(expert_spread_table(result_));
    document_.table(tiled_launches_table(result_));
    document_.table(stages_table(run_));
    if (result_.measurements.ceilings.products > 0) document_.table(roofline_table(run_));
    document_.table(kernels_table(run_));
  }

 private:
  void settings(const std::string& summary) {
    const engine::ShapeSpec& shape = result_.effective.shape;
    add_subject(document_, summary, result_.device);
    document_.fact("shape", fmt::format("{}{}, {}, n {}, k {}",
                                        shape.preset.empty() ? "" : shape.preset + ": ",
                                        counted(shape.num_experts, "expert"),
                                        counted(shape.rows, "row"), shape.n, shape.k));
    for (const engine::Deviation& one : result_.deviations) {
      document_.fact("deviation", deviation_text(one));
    }
    if (!result_.emulated.empty()) document_.fact("emulated", result_.emulated);
  }

  void times() {
    const StepTimes times = step_times(result_.iterations, run_.power.samples);
    const Distribution time = summarize(times.durations_ns);
    if (time.n == 0) return;
    document_.fact(
        "step", fmt::format("{} ({})", samples_text(times.durations_ns), result_.iteration_method));
    if (median_precision(times.durations_ns).vague) {
      document_.fact("noise",
                     fmt::format("The machine is noisy: the step took {}. Its median, and every "
                                 "rate computed from it, may be far off.",
                                 engine::time_range_text(time.minimum, time.maximum)));
    }
    if (times.throttled_count > 0) {
      document_.fact(
          "throttled",
          fmt::format("{} of {} ({}){}", count_text(times.throttled_count),
                      counted(times.durations_ns.size(), "sample"),
                      clock_reason_names(times.reasons),
                      times.mixed() ? "; without them: " + samples_text(times.counted_ns(true))
                                    : std::string()));
    }
    if (const std::string end = iteration_end_text(result_); !end.empty()) {
      document_.fact("median", end);
    }
    const bool mean_step = result_.recorded_routing && result_.recorded_routing->steps.size() > 1;
    document_.fact("rate", fmt::format("{} at the median{}",
                                       flop_rate(1e9 * result_.flop / time.median).text(),
                                       mean_step ? ", work as in the mean step" : ""));
  }

  void recorded_routing() {
    if (!result_.recorded_routing) return;
    const engine::RecordedRouting& recorded = *result_.recorded_routing;
    const auto& steps = recorded.steps;
    std::int64_t dropped = 0;
    for (const engine::RecordedStep& step : steps) dropped += step.dropped;
    document_.fact(
        "routing",
        fmt::format(
            "{}; layer {} of {}, {} of {}{}", recorded.source, result_.effective.routing.layer,
            recorded.layers, count_text(steps.size()), counted(recorded.file_steps, "step"),
            dropped == 0 ? "" : fmt::format(", {} without an expert", counted(dropped, "choice"))));
    if (steps.size() < 2) return;
    const auto reached = std::ranges::count_if(
        steps, [](const engine::RecordedStep& step) { return step.visits > 0; });
    if (std::cmp_less(reached, steps.size())) {
      document_.fact("steps",
                     fmt::format("{} of {} steps were reached; set launch.iterations to {} to "
                                 "reach all",
                                 count_text(reached), count_text(steps.size()), steps.size()));
    }
    document_.fact("steps", "SNR " + recorded.numerics);
  }

  /// The worst expert, and what quantizing each operand did to it, whatever the tensors before it
  /// had lost already.
  void accuracy() {
    for (const HeadlineFigure& figure : headline_of(result_, {}, {})) {
      document_.fact("accuracy", fmt::format("{}: {}", figure.label, figure.value.text()));
    }
    for (const engine::TensorResult& one : result_.tensors) {
      if (!one.quantization || one.quantization->elements == 0) continue;
      document_.fact("quantizing",
                     fmt::format("{} {}", symbol_of(one), loss_text(*one.quantization)));
    }
    typical_error();
    outliers();
  }

  /// Of every operand, with the sentence that says how it differs from the SNR above it. Recordings
  /// from before it was measured do not have it.
  void typical_error() {
    std::string typical;
    for (const engine::TensorResult& one : result_.tensors) {
      if (!one.quantization || std::isnan(one.quantization->median_block_snr_db)) continue;
      typical += fmt::format("{}{} {}", typical.empty() ? "" : ", ", symbol_of(one),
                             engine::snr_text(one.quantization->median_block_snr_db, 0));
    }
    if (!typical.empty()) {
      document_.fact("typical SNR", fmt::format("{}. {}", typical, kTypicalError));
    }
  }

  /// Outliers among the columns of every operand that has some.
  void outliers() {
    for (const engine::TensorResult& one : result_.tensors) {
      if (!one.quantization || !one.quantization->channels) continue;
      const engine::ChannelProfile& columns = one.quantization->channels->columns;
      if (columns.outliers == 0) continue;
      document_.fact("outliers", fmt::format("{}: {}", symbol_of(one),
                                             channels_text(columns, ChannelAxis::Columns)));
    }
  }

  void trace() {
    for (const engine::AlgorithmChoice& choice : result_.algorithms) {
      document_.fact("algorithm", fmt::format("{} ({}): {}", engine::name_of(choice.product),
                                              engine::output_title(result_.effective.step,
                                                                   choice.product, choice.layer),
                                              algorithm_text(choice)));
    }
    const bool tried = std::ranges::any_of(
        result_.algorithms, [](const auto& choice) { return choice.candidates > 0; });
    if (tried) document_.fact("algorithm", kAlgorithmTrial);
    document_.fact("records",
                   fmt::format("{} ({}), {} dropped", count_text(run_.activity.records.size()),
                               result_.activity_method, count_text(result_.dropped_records)));
    if (const auto gaps = summarize_gaps(sum_replays(run_.activity), kAllTime)) {
      document_.fact("gaps", fmt::format("the device idles {} per step (median, {:.2f} %), "
                                         "longest gap {}",
                                         duration_text(gaps->gaps.median), 100 * gaps->median_share,
                                         duration_text(static_cast<double>(gaps->longest_ns))));
    }
  }

  void measurements() {
    const engine::Measurements& measured = result_.measurements;
    const auto off = std::ranges::find(measured.observer, engine::TraceLevel::Off,
                                       &engine::ObserverTiming::level);
    for (const engine::ObserverTiming& timing : measured.observer) {
      const bool compared =
          off != measured.observer.end() && timing.level != engine::TraceLevel::Off;
      document_.fact(
          "observer",
          fmt::format(
              "{}: median {:.3f} ms, p5 {:.3f}, p95 {:.3f}, {}{}",
              kLevels[static_cast<std::size_t>(timing.level)], timing.median_ns / 1e6,
              timing.p5_ns / 1e6, timing.p95_ns / 1e6, counted(timing.samples, "sample"),
              compared ? fmt::format(", {} %", percent_change(timing.median_ns / off->median_ns, 2))
                       : std::string()));
    }
    const engine::Ceilings& ceilings = measured.ceilings;
    if (ceilings.copies > 0) {
      document_.fact("ceiling", fmt::format("copy {} (read + write, {} of {:.0f} MiB)",
                                            byte_rate_text(ceilings.copy_bytes_per_s),
                                            counted(ceilings.copies, "copy", "copies"),
                                            static_cast<double>(ceilings.copy_bytes) / 0x1p20));
    }
    if (ceilings.products > 0) {
      document_.fact("ceiling",
                     fmt::format("{}: {}, {}", flop_rate(ceilings.product_flop_per_s).text(),
                                 ceilings.product, counted(ceilings.products, "sample")));
    } else if (!ceilings.product.empty()) {
      document_.fact("ceiling", "product " + ceilings.product);
    }
    if (const std::string why = unknown_work(result_, engine::Stage::Quantize); !why.empty()) {
      document_.fact("roofline", why);
    }
    if (ceilings.copies > 0 || ceilings.products > 0) {
      for (const std::string& sentence : roof_sentences(run_)) document_.fact("kernels", sentence);
    }
    power();
  }

  void power() {
    const std::vector<engine::Iteration>& iterations = result_.iterations;
    if (run_.power.samples.empty() || iterations.empty()) return;
    document_.fact("power", power_text(run_.power.samples, iterations));
  }

  void graphs() {
    const engine::GraphFacts& graph = result_.graph;
    if (graph.kernels > 0) {
      document_.fact("graph",
                     fmt::format("{}, {}, {}, {}, {}; {} to launch on the host",
                                 counted(graph.kernels, "kernel"), counted(graph.memsets, "memset"),
                                 counted(graph.copies, "copy", "copies"),
                                 counted(graph.allocations, "allocation"),
                                 counted(graph.host_calls, "host call"),
                                 duration_text(static_cast<double>(graph.host_launch_ns))));
    }
    if (const engine::GraphMemoryFacts& memory = result_.graph_memory; memory.pools > 0) {
      document_.fact("graph pool",
                     fmt::format("{} in {}, {} without sharing", bytes_text(memory.bytes),
                                 memory.pools == 1 ? std::string("one pool")
                                                   : fmt::format("{} pools", memory.pools),
                                 bytes_text(memory.unshared_bytes)));
    }
    if (const engine::ReplayWatchFacts& watch = result_.watch; watch.replays > 0) {
      document_.fact(
          "watchdog",
          fmt::format("{}, 99 % of them within {}; {}; {}", counted(watch.replays, "replay"),
                      duration_text(1e3 * watch.p99_us),
                      watch.deadline_seconds > 0.0
                          ? fmt::format("deadline {:.2f} s", watch.deadline_seconds)
                          : std::string("no deadline"),
                      watch.markers > 0
                          ? fmt::format("markers after {}", counted(watch.markers, "node"))
                          : std::string("no markers")));
    }
    replay_checks();
  }

  void replay_checks() {
    std::size_t wrong = 0;
    for (const engine::ReplayCheck& check : result_.replay_checks) {
      if (check.wrong_experts.empty()) continue;
      if (wrong++ > 0) continue;
      document_.fact(
          "wrong",
          fmt::format(
              "replay {}, {}{} of {}: {}, first {}", check.replay,
              check.micro_batch > 0 ? fmt::format("micro-batch {}, ", check.micro_batch + 1) : "",
              engine::name_of(check.product),
              engine::layer_words(result_.effective.step, check.layer),
              counted(check.wrong_experts.size(), "expert differs", "experts differ"),
              check.wrong_experts.front()));
    }
    if (result_.replay_checks.empty()) return;
    document_.fact("replays",
                   fmt::format("{} of {} checks differ from the eager step", count_text(wrong),
                               count_text(result_.replay_checks.size())));
  }

  void step_chart() {
    const StepTimes times = step_times(result_.iterations, run_.power.samples);
    const Distribution time = summarize(times.durations_ns);
    if (time.n == 0) return;
    const bool replays = !run_.activity.nodes.empty();
    document_.chart({.kind = Chart::Kind::Line,
                     .title = fmt::format("Step time per {}", iteration_noun(replays)),
                     .note = fmt::format(
                         "Median {}, 5 % to 95 % {} to {}, {}{}", duration_text(time.median),
                         duration_text(time.p5), duration_text(time.p95), sample_text(times, false),
                         times.throttled_count == 0
                             ? ""
                             : ". Marked: throttled by " + clock_reason_names(times.reasons)),
                     .item = iteration_noun(replays),
                     .quantity = "time",
                     .measure = Measure::Time,
                     .first_item = static_cast<std::size_t>(first_iteration(replays)),
                     .values = times.durations_ns,
                     .marked = times.throttled});
  }

  void recorded_steps() {
    if (!result_.recorded_routing || result_.recorded_routing->steps.size() < 2) return;
    const std::shared_ptr<const RankedSteps> ranked = ranked_steps(result_, run_.power.samples);
    const engine::RecordedRouting& recorded = ranked->recorded;
    std::vector<double> time;
    std::vector<double> imbalance;
    std::vector<double> snr;
    for (const engine::RecordedStep& step : recorded.steps) {
      time.push_back(step.median_ns);
      imbalance.push_back(step.imbalance);
      snr.push_back(step.y_snr_db);
    }
    if (ranked->timed == 0) {
      document_.paragraph(
          "No step has a time of its own: none ran, or several micro-batches were in flight and "
          "share the time of their iteration.");
    } else {
      document_.chart({.title = "Time of every recorded step",
                       .note = "Median of its iterations, without those throttled and the first "
                               "where the step has others; " +
                               slowest_words(*ranked),
                       .item = "recorded step",
                       .quantity = "time",
                       .measure = Measure::Time,
                       .values = std::move(time)});
    }
    document_.chart({.title = "Imbalance of every recorded step",
                     .note = "The largest split over the mean split",
                     .item = "recorded step",
                     .quantity = "imbalance",
                     .measure = Measure::Factor,
                     .values = std::move(imbalance)});
    document_.chart({.title = "SNR of Y in every recorded step that was measured",
                     .item = "recorded step",
                     .quantity = "SNR of Y",
                     .measure = Measure::Decibels,
                     .values = std::move(snr)});
    document_.table(ranked_steps_table(ranked, std::min(ranked->timed, kMostSlowest)));
  }

  void operand_charts() {
    for (const engine::TensorResult& one : result_.tensors) {
      if (!one.quantization || one.quantization->elements == 0) continue;
      const engine::OperandStatistics& statistics = *one.quantization;
      const auto counts = [](const engine::MagnitudeHistogram& histogram) {
        return std::vector<double>(histogram.counts.begin(), histogram.counts.end());
      };
      document_.chart(
          {.kind = Chart::Kind::Magnitudes,
           .title = fmt::format("{}: magnitudes before and after quantization", symbol_of(one)),
           .note = fmt::format("Grey: before, blue: after. SNR of quantizing it {}, {} of {} "
                               "saturated, {} underflowed, {} lost",
                               engine::snr_text(statistics), count_text(statistics.saturated),
                               count_text(statistics.elements), count_text(statistics.underflowed),
                               count_text(statistics.lost)),
           .item = "magnitude",
           .quantity = "elements",
           .values = counts(statistics.before),
           .after = counts(statistics.after),
           .first_bin = statistics.before.first_bin,
           .first_after = statistics.after.first_bin});
    }
  }

  void expert_charts() {
    const std::vector<engine::ExpertResult>& experts = result_.experts;
    if (experts.empty()) return;
    const auto of_experts = [&experts](const auto& value) {
      std::vector<double> values;
      for (const engine::ExpertResult& expert : experts) values.push_back(value(expert));
      return values;
    };
    const auto bars = [this](std::string title, std::string note, std::string quantity,
                             Measure measure, std::vector<double> values) {
      document_.chart({.title = std::move(title),
                       .note = std::move(note),
                       .item = "expert",
                       .quantity = std::move(quantity),
                       .measure = measure,
                       .values = std::move(values)});
    };
    bars("Rows per expert", "", "rows", Measure::Count,
         of_experts(
             [](const engine::ExpertResult& expert) { return static_cast<double>(expert.rows); }));
    std::vector<double> time(experts.size(), kNaN);
    for (const ExpertTime& one : expert_times(run_.activity, engine::Stage::Fprop)) {
      const auto expert = static_cast<std::size_t>(one.expert);
      if (expert < time.size()) time[expert] = one.time.median;
    }
    bars("Time of fprop per expert", "Median over the iterations", "time", Measure::Time,
         std::move(time));
    for (const engine::Product product : products_of(result_)) {
      bars(fmt::format("SNR of {} per expert", engine::output_name(product)), "", "SNR",
           Measure::Decibels, of_experts([product](const engine::ExpertResult& expert) {
             return expert.rows > 0 ? expert.of(product).snr_db : kNaN;
           }));
    }
  }

  std::string_view symbol_of(const engine::TensorResult& tensor) const {
    return engine::tensor_symbol(result_.effective.step, tensor.tensor);
  }

  const RecordedRun& run_;
  const engine::RunResult& result_;
  Document& document_;
};

}  // namespace

void add_subject(Document& document, const std::string& request,
                 const engine::DeviceFacts& device) {
  if (!request.empty()) document.fact("request", request);
  document.fact("device", device_text(device));
}

Document run_document(const RecordedRun& run, const std::string& summary) {
  Document document;
  RunWriter(run, document).write(summary);
  return document;
}

std::string deviation_text(const engine::Deviation& deviation) {
  return fmt::format("{}: {} instead of {}: {}", deviation.field, deviation.effective,
                     deviation.requested, deviation.reason);
}

std::string date_text(std::int64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  if (unix_ms <= 0 || ::gmtime_r(&seconds, &parts) == nullptr) return "unknown date";
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", parts);
}

std::string device_text(const engine::DeviceFacts& device) {
  std::string text = device.name;
  const auto add = [&text](const char* what, const std::string& value) {
    if (!value.empty()) text += fmt::format(", {}{}", what, value);
  };
  add("driver ", device.driver);
  add("cuBLASLt ", device.cublaslt_version);
  add("", device.blas);
  return text;
}

}  // namespace profiling
