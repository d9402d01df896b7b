#include "app/page/recording_page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include "app/doctor/report_words.h"
#include "app/page/html_page.h"
#include "app/page/product_accuracy.h"
#include "app/page/svg_chart.h"
#include "engine/input/value_json.h"
#include "engine/model/leaves.h"
#include "engine/model/path_text.h"
#include "engine/model/paths.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_words.h"
#include "engine/model/snr_words.h"
#include "engine/model/text.h"
#include "engine/program/operation_words.h"
#include "profiling/hazards/model/names.h"
#include "profiling/power/step_times.h"
#include "profiling/trace/roofline.h"
#include "profiling/trace/statistics.h"

namespace app {
namespace {

using profiling::DoctorReport;
using profiling::Finding;
using profiling::RecordedRun;
using Row = HtmlPage::Row;

constexpr std::size_t kCharts = 40;   // runs that are shown in full
constexpr std::size_t kKernels = 15;  // rows of a kernel table
constexpr std::size_t kSlowestSteps = 5;
constexpr std::size_t kExperts = 64;         // rows of a table of experts; charts have all
constexpr std::size_t kRoomOfRun = 200'000;  // bytes

std::string milliseconds(double ns) {
  return std::isfinite(ns) ? fmt::format("{:.4g} ms", ns / 1e6) : std::string("–");
}

std::string decibels(double db) {
  if (std::isnan(db)) return "–";
  return std::isinf(db) ? (db > 0 ? "exact" : "-inf dB") : fmt::format("{:.2f} dB", db);
}

std::string date_of(std::int64_t unix_ms) {
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

profiling::StepTimes times_of(const RecordedRun& run) {
  return profiling::step_times(run.result.iterations, run.power.samples);
}

class Writer {
 public:
  Writer(HtmlPage& page, bool with_paths) : page_(page), with_paths_(with_paths) {}

  void overview(const std::vector<PageContent::NamedRun>& runs) {
    std::vector<Row> rows;
    for (const PageContent::NamedRun& named : runs) {
      const RecordedRun& run = *named.run;
      const profiling::StepTimes times = times_of(run);
      const std::vector<double>& ns = times.durations_ns;
      const profiling::Distribution time = profiling::summarize(ns);
      const bool rated = time.n > 0 && time.median > 0 && run.result.flop > 0;
      rows.push_back({named.name, milliseconds(time.median), profiling::median_precision(ns),
                      fmt::to_string(time.n),
                      times.throttled.empty() ? "–" : fmt::to_string(times.throttled_count),
                      rated ? fmt::format("{:.4g}", 1e-3 * run.result.flop / time.median) : "–",
                      worst_snr(run.result), fmt::to_string(lost_outputs(run.result))});
    }
    page_.table({"run", "step, median", "95 % interval", "n", "throttled", "TFLOP/s",
                 "SNR of Y, worst expert", "outputs lost"},
                rows);
  }

  void run(const PageContent::NamedRun& named) {
    const RecordedRun& run = *named.run;
    page_.heading(2, named.name);
    page_.paragraph(fmt::format("{}. {}. {}", date_of(run.wall_clock_ms),
                                device_text(run.result.device), run.result.iteration_method));
    if (!page_.has_room(kRoomOfRun)) {
      return page_.paragraph("Its charts and tables do not fit into this page.");
    }
    const profiling::StepTimes times = times_of(run);
    const profiling::Distribution time = profiling::summarize(times.durations_ns);
    if (time.n > 0) {
      const std::string marks = times.throttled_count == 0
                                    ? ""
                                    : fmt::format(". Orange: throttled by {}",
                                                  profiling::clock_reason_names(times.reasons));
      page_.chart(line_chart(times.durations_ns, "ns", times.throttled),
                  fmt::format("Step time per iteration: median {}, 5 % to 95 % {} to {}, {}{}",
                              milliseconds(time.median), milliseconds(time.p5),
                              milliseconds(time.p95), profiling::sample_text(times, false), marks));
    }
    if (!run.result.emulated.empty()) page_.paragraph(run.result.emulated);
    graphs(run.result);
    recorded_steps(run);
    experts(run);
    operands(run.result);
    tensors(run.result);
    stages(run);
    kernels(run);
    deviations(run);
    page_.details("The request", [&] {
      page_.code(engine::to_json_text(
          with_paths_ ? run.request : engine::without_folders(run.request), true));
    });
  }

  /// Of a step that was captured as several.
  void graphs(const engine::RunResult& result) {
    if (result.graphs.empty()) return;
    const engine::GraphMemoryFacts& memory = result.graph_memory;
    page_.paragraph(fmt::format(
        "Captured as {} graphs. Memory that only they use: {} bytes, {} bytes without sharing.",
        result.graphs.size(), memory.bytes, memory.unshared_bytes));
    std::vector<std::vector<std::string>> rows;
    for (const engine::StepGraph& one : result.graphs) {
      rows.push_back({one.name, std::to_string(one.contents.kernels),
                      fmt::format("{:.1f}", one.median_us), std::to_string(one.samples)});
    }
    page_.table({"graph", "kernels", "median us", "n"}, rows);
  }

  void comparison(const profiling::RecordedComparison& recorded) {
    const engine::RecipeComparison& comparison = recorded.comparison;
    page_.heading(2, "Recipes side by side");
    page_.paragraph(
        fmt::format("{}. {}", date_of(recorded.wall_clock_ms), device_text(comparison.device)));
    std::vector<Row> rows;
    for (const engine::QuantizationReport& report : comparison.reports) {
      const auto& statistics = report.statistics;
      std::vector<double> times(report.times_ns.begin(), report.times_ns.end());
      rows.push_back({engine::recipe_name(report.recipe, comparison.request.weights),
                      report.columnwise ? "columnwise" : "rowwise",
                      report.refused.empty() ? engine::snr_text(statistics) : report.refused,
                      fmt::to_string(statistics.saturated), fmt::to_string(statistics.underflowed),
                      fmt::to_string(statistics.lost),
                      milliseconds(profiling::summarize(std::move(times)).median)});
    }
    page_.table({"recipe", "direction", "SNR", "saturated", "underflowed", "lost", "time, median"},
                rows);
  }

  void visit(const profiling::RecordedVisit& recorded) {
    const DoctorReport& report = recorded.report;
    page_.heading(2, "Graph doctor: " + report.snapshot.subject);
    page_.paragraph(fmt::format("{}. {}{}{}", date_of(recorded.wall_clock_ms),
                                report.snapshot.device,
                                report.snapshot.cublaslt_version.empty() ? "" : ", cuBLASLt ",
                                report.snapshot.cublaslt_version));
    page_.paragraph(report.conclusion);
    page_.paragraph(smallest_cure_text(report));
    for (const Finding& one : report.findings) finding(one);
    std::vector<Row> rows;
    for (const profiling::ExperimentRecord& one : report.experiments) {
      rows.push_back({one.title, symptom_of(one.experiment, one.outcome),
                      one.finding < 0 ? "" : fmt::to_string(one.finding + 1),
                      fmt::format("{:.1f} s", one.outcome.seconds)});
    }
    if (!rows.empty()) page_.heading(3, "Experiments, each in a process of its own");
    page_.table({"experiment", "outcome", "finding", "took"}, rows);
  }

 private:
  void finding(const Finding& one) {
    page_.heading(3, fmt::format("{} ({})", one.title, engine::name_of(one.confidence)));
    page_.paragraph(one.fix.words);
    const auto code = [this](const char* library, const std::string& lines) {
      if (lines.empty()) return;
      page_.heading(4, library);
      page_.code(lines);
    };
    code("cuBLASLt", one.fix.cublaslt);
    code("PyTorch", one.fix.pytorch);
    code("Transformer Engine", one.fix.transformer_engine);
    page_.paragraph(one.explanation);
    page_.paragraph(one.missing_order);
    page_.list(one.evidence);
  }

  /// A routing from a file, step by step.
  void recorded_steps(const RecordedRun& run) {
    if (!run.result.recording || run.result.recording->steps.size() < 2) return;
    const engine::RecordedRouting& recording = *run.result.recording;
    std::vector<double> time;
    std::vector<double> imbalance;
    std::vector<double> snr;
    for (const engine::RecordedStep& step : recording.steps) {
      time.push_back(step.median_ns);
      imbalance.push_back(step.imbalance);
      snr.push_back(step.y_snr_db);
    }
    page_.paragraph(fmt::format("Recorded routing: {}. {} of {} steps replayed. SNR {}.",
                                recording.source, recording.steps.size(), recording.file_steps,
                                recording.numerics));
    const std::vector<std::size_t> slowest = engine::slowest_steps(recording, kSlowestSteps);
    if (slowest.empty()) {
      page_.paragraph(
          "No step has a time of its own: none ran, or several micro-batches were in flight and "
          "share the time of their iteration.");
    } else {
      page_.chart(bar_chart(time, "ns"), "Time of every recorded step, median of its iterations");
    }
    page_.chart(bar_chart(imbalance, ""),
                "Imbalance of every recorded step: the largest split over the mean split");
    page_.chart(bar_chart(snr, "dB"), "SNR of Y in every recorded step that was measured");
    std::vector<Row> rows;
    for (const std::size_t index : slowest) {
      const engine::RecordedStep& step = recording.steps[index];
      rows.push_back({fmt::to_string(step.step), milliseconds(step.median_ns),
                      fmt::to_string(step.visits), fmt::to_string(step.rows),
                      fmt::format("{:.2f}", step.imbalance),
                      engine::snr_text(step.y_snr_db, step.y_left_out)});
    }
    if (slowest.empty()) return;
    page_.paragraph("The slowest steps:");
    page_.table({"step", "time", "iterations", "rows", "imbalance", "SNR of Y"}, rows);
  }

  /// The tensors of one layer, and what the quantization of each costs an expert layer's Y.
  void tensors(const engine::RunResult& result) {
    const engine::StepKind step = result.effective.step;
    const auto memory = [](const engine::TensorResult& one, std::int64_t bytes) -> std::string {
      if (!one.has_bytes()) return "–";
      return bytes <= 0 ? "none" : profiling::size_text(static_cast<std::uint64_t>(bytes));
    };
    std::vector<Row> rows;
    for (const engine::TensorResult& one : result.tensors) {
      rows.push_back({std::string(engine::tensor_symbol(step, one.tensor)),
                      std::string(engine::traits_of(one.tensor).meaning),
                      fmt::format("{} x {}", one.rows, one.columns),
                      result.expert_layer ? engine::snr_text(one.error) : "–",
                      one.quantization && one.quantization->elements > 0
                          ? engine::snr_text(*one.quantization)
                          : "",
                      result.expert_layer ? fmt::to_string(one.error.lost) : "–",
                      memory(one, one.bytes), memory(one, one.saved_bytes)});
    }
    if (rows.empty()) return;
    page_.paragraph("One layer, tensor by tensor:");
    page_.table({"tensor", "description", "rows x columns", "SNR in the layer",
                 "SNR of quantizing it", "lost", "memory", "kept for backward"},
                rows);
    if (!result.expert_layer) return;
    page_.paragraph(
        "SNR in the layer: against the same tensor of a layer that computes in FP32 from the "
        "unquantized operands, so everything before it counts. SNR of quantizing it: against the "
        "tensor that this step quantized.");
    const engine::TensorResult* const y = engine::find_tensor(result, engine::StepTensor::Y);
    if (y == nullptr) return;
    rows.clear();
    for (const engine::TensorResult& one : result.tensors) {
      if (!one.unquantized_y) continue;
      rows.push_back({std::string(engine::tensor_symbol(step, one.tensor)),
                      engine::snr_text(one.unquantized_y->snr_db, one.unquantized_y->left_out),
                      decibels(one.unquantized_y->snr_db - y->error.snr_db)});
    }
    if (rows.empty()) return;
    page_.paragraph(
        fmt::format("Y has an SNR of {}, and {} with every operand unquantized. With "
                    "one of them unquantized:",
                    engine::snr_text(y->error),
                    engine::snr_text(result.expert_layer->unquantized_snr_db,
                                     result.expert_layer->unquantized_left_out)));
    page_.table({"unquantized", "SNR of Y", "gain"}, rows);
  }

  void experts(const RecordedRun& run) {
    const std::vector<engine::ExpertResult>& experts = run.result.experts;
    if (experts.empty()) return;
    const std::vector<engine::Product> products = products_of(run.result);
    std::vector<double> tokens;
    for (const engine::ExpertResult& expert : experts) {
      tokens.push_back(static_cast<double>(expert.rows));
    }
    std::vector<double> time(experts.size(), std::numeric_limits<double>::quiet_NaN());
    for (const profiling::ExpertTime& one :
         profiling::expert_times(run.activity, engine::Stage::Fprop)) {
      if (one.expert >= 0 && one.expert < static_cast<int>(time.size())) {
        time[static_cast<std::size_t>(one.expert)] = one.time.median;
      }
    }
    page_.chart(bar_chart(tokens, ""), "Tokens per expert");
    page_.chart(bar_chart(time, "ns"), "Time of fprop per expert, median over the iterations");
    Row columns = {"expert", "tokens", "fprop"};
    for (const engine::Product product : products) {
      std::vector<double> snr;
      for (const engine::ExpertResult& expert : experts) {
        snr.push_back(expert.rows > 0 ? expert.of(product).snr_db
                                      : std::numeric_limits<double>::quiet_NaN());
      }
      page_.chart(bar_chart(snr, "dB"),
                  fmt::format("SNR of {} per expert", engine::output_name(product)));
      for (const char* what : {"SNR of {}", "largest error of {}", "{} lost"}) {
        columns.push_back(fmt::format(fmt::runtime(what), engine::output_name(product)));
      }
    }
    columns.insert(columns.end(), {"X saturated", "X underflowed"});
    std::vector<Row> rows;
    for (std::size_t i = 0; i < std::min(experts.size(), kExperts); ++i) {
      const engine::ExpertResult& expert = experts[i];
      Row& row = rows.emplace_back(
          Row{fmt::to_string(i), fmt::to_string(expert.rows), milliseconds(time[i])});
      for (const engine::Product product : products) {
        const engine::ProductAccuracy& one = expert.of(product);
        const bool known = expert.rows > 0 && !std::isnan(one.max_abs_error);
        row.push_back(expert.rows > 0 ? engine::snr_text(one) : "–");
        row.push_back(known ? fmt::format("{:.4g}", one.max_abs_error) : "–");
        row.push_back(fmt::to_string(one.lost));
      }
      row.push_back(fmt::to_string(expert.saturated));
      row.push_back(fmt::to_string(expert.underflowed));
    }
    page_.details("Table of experts", [&] {
      page_.table(columns, rows);
      if (experts.size() > kExperts) {
        page_.paragraph(fmt::format("{} more experts", experts.size() - kExperts));
      }
    });
  }

  /// All that the run has, in the layer's order.
  void operands(const engine::RunResult& result) {
    for (const engine::TensorResult& one : result.tensors) {
      if (!one.quantization) continue;
      operand(engine::tensor_symbol(result.effective.step, one.tensor), *one.quantization);
    }
  }

  void operand(std::string_view name, const engine::OperandStatistics& statistics) {
    if (statistics.elements == 0) return;
    // Bin 0 of the counts is that of 2^-127, with four per power of two.
    const auto histogram = [](const engine::MagnitudeHistogram& one, std::vector<double>& counts) {
      counts.assign(one.counts.begin(), one.counts.end());
      return Log2Histogram{.first = one.first_bin - 4 * 127, .counts = counts};
    };
    std::vector<double> before;
    std::vector<double> after;
    page_.chart(
        histogram_chart(histogram(statistics.before, before), histogram(statistics.after, after),
                        4),
        fmt::format("{}: magnitudes before (grey) and after quantization (blue). SNR of quantizing "
                    "it {}, {} of {} saturated, {} underflowed, {} lost",
                    name, engine::snr_text(statistics), statistics.saturated, statistics.elements,
                    statistics.underflowed, statistics.lost));
  }

  /// What is counted of a step's stages, such as the permutation's bytes, beside their time.
  void stages(const RecordedRun& run) {
    std::vector<Row> rows;
    for (const profiling::StageTime& one : profiling::stage_times(run.result, run.activity)) {
      const double ns = one.time.median;
      const bool rated = one.work && ns > 0;
      rows.push_back(
          {std::string(engine::stage_name(one.stage)), fmt::to_string(one.time.n), milliseconds(ns),
           one.work ? profiling::size_text(static_cast<std::uint64_t>(one.work->bytes)) : "–",
           rated ? fmt::format("{:.4g}", one.work->bytes / ns) : "–",
           rated && one.work->flop > 0 ? fmt::format("{:.4g}", 1e-3 * one.work->flop / ns) : "–"});
    }
    if (rows.empty()) return;
    page_.paragraph("The stages of one step; bytes and operations are counted, not measured:");
    page_.table({"stage", "n", "median", "bytes", "GB/s", "TFLOP/s"}, rows);
  }

  void kernels(const RecordedRun& run) {
    std::vector<Row> rows;
    const auto table = profiling::kernel_table(run.activity, profiling::kAllTime,
                                               /*only_iterations=*/true);
    for (const profiling::KernelSummary& kernel : table) {
      if (rows.size() == kKernels) break;
      rows.push_back(
          {engine::operation_name(run.result.effective.step, kernel.stage, kernel.writes),
           run.activity.names[kernel.name], std::string(engine::stage_name(kernel.stage)),
           fmt::to_string(kernel.time.n), milliseconds(kernel.time.median),
           milliseconds(kernel.time.sum), fmt::format("{:.1f} %", 100 * kernel.share)});
    }
    if (rows.empty()) return;
    page_.details(fmt::format("Kernels ({} of {})", rows.size(), table.size()), [&] {
      page_.table({"operation", "kernel", "stage", "n", "median", "sum", "share"}, rows);
    });
  }

  void deviations(const RecordedRun& run) {
    std::vector<Row> rows;
    for (const engine::Deviation& one : run.result.deviations) {
      rows.push_back({one.field, one.requested, one.effective, one.reason});
    }
    page_.table({"setting", "requested", "effective", "reason"}, rows);
  }

  HtmlPage& page_;
  bool with_paths_;
};

bool is_path(std::string_view field) {
  const engine::RunRequest request;
  const engine::FoundLeaf leaf =
      engine::find_leaf(engine::kType<engine::RunRequest>, &request, field);
  return leaf.field != nullptr && leaf.field->rules.path;
}

/// Every path of what is shown: sentences of workers and of the doctor quote them.
std::vector<PrivateValue> private_values(const PageContent& content) {
  std::set<std::string> paths;
  const auto add = [&paths](const std::string& path) { paths.insert(path); };
  for (const PageContent::NamedRun& named : content.runs) {
    engine::for_each_path(*named.run, add);
    for (const engine::Deviation& one : named.run->result.deviations) {
      if (!is_path(one.field)) continue;
      add(one.requested);
      add(one.effective);
    }
  }
  for (const profiling::RecordedComparison* one : content.comparisons) {
    engine::for_each_path(*one, add);
  }
  for (const profiling::RecordedVisit* one : content.visits) engine::for_each_path(*one, add);
  std::vector<PrivateValue> values = private_names();
  for (const std::string& path : paths) {
    const std::string shown = engine::without_folders(path);
    values.push_back({.value = path, .shown = shown});
    // As a sentence quotes what would not be safe to print.
    values.push_back({.value = engine::shown_text(path), .shown = shown});
    // And as a message shortens one that is too long to read.
    values.push_back({.value = engine::shown_path(path), .shown = shown});
    values.push_back({.value = engine::shown_text(engine::shown_path(path)), .shown = shown});
  }
  return values;
}

}  // namespace

std::string recording_page(const PageContent& content, const std::string& title, bool with_paths) {
  HtmlPage page(title, with_paths ? std::vector<PrivateValue>() : private_values(content));
  Writer writer(page, with_paths);
  const auto& runs = content.runs;
  const auto counted = [](std::size_t n, const char* one, const char* many) {
    return fmt::format("{} {}", n, n == 1 ? one : many);
  };
  page.paragraph(
      counted(runs.size(), "run, ", "runs, ") +
      counted(content.comparisons.size(), "comparison of recipes, ", "comparisons of recipes, ") +
      counted(content.visits.size(), "visit to the graph doctor.", "visits to the graph doctor."));
  if (!content.doubt.empty()) {
    // The reasons name files.
    page.warning(
        "The recording may be incomplete: runs may be missing from it and from this page. " +
        (with_paths ? content.doubt : "Whoever opens the recording is told why."));
  }
  writer.overview(runs);
  for (const profiling::RecordedVisit* visit : content.visits) writer.visit(*visit);
  for (const profiling::RecordedComparison* one : content.comparisons) writer.comparison(*one);
  for (std::size_t i = 0; i < std::min(runs.size(), kCharts); ++i) writer.run(runs[i]);
  if (runs.size() > kCharts) {
    page.paragraph(fmt::format("{} more runs are only in the table above.", runs.size() - kCharts));
  }
  return page.finish();
}

}  // namespace app
