#include "app/cli/bench_rows.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/terminal.h"
#include "app/protocol/paths.h"

namespace app::cli {
namespace {

using Json = nlohmann::ordered_json;

// ---- Clock and power ---------------------------------------------------------------------------

bool has_power(const BenchStart& start) {
  return start.threads == 0 && start.power_missing.empty();
}

/// The headings above power_columns().
constexpr const char* kPowerColumns = "  SM MHz     W    C  clock limits";

/// A clock marked * covers the whole shape.
std::string power_columns(const profiling::PowerSummary& power, bool of_shape) {
  const auto cell = [](double value, int width) {
    return value < 0 ? fmt::format("{:>{}}", "none", width)
                     : fmt::format("{:>{}.0f}", value, width);
  };
  return fmt::format("{}{}{}{}  {}", cell(power.sm_clock_mhz, 8), of_shape ? "*" : " ",
                     cell(power.power_w, 5), cell(power.temperature_max_c, 5),
                     profiling::clock_reason_names(power.clock_reasons));
}

Json known(double value) { return value < 0 ? Json() : Json(value); }

/// {"missing": why} or the readings; unknown values are null.
Json power_json(const BenchStart& start, const profiling::PowerSummary& power, bool of_shape) {
  if (!start.power_missing.empty()) return {{"missing", start.power_missing}};
  return {{"samples", power.samples},
          {"of", of_shape ? "shape" : "row"},
          {"method", start.power_method},
          {"sm_clock_mhz", known(power.sm_clock_mhz)},
          {"sm_clock_min_mhz", known(power.sm_clock_min_mhz)},
          {"power_w", known(power.power_w)},
          {"power_max_w", known(power.power_max_w)},
          {"temperature_max_c", known(power.temperature_max_c)},
          {"clock_limits", profiling::clock_reason_names(power.clock_reasons)}};
}

// ---- What a row says ---------------------------------------------------------------------------

double gigabytes_per_second(const engine::BenchRow& row) { return row.bytes / row.median_us / 1e3; }

/// Elements per second and core, where cores share the work.
double elements_per_core(const BenchStart& start, const engine::BenchRow& row) {
  return static_cast<double>(row.elements) / row.median_us * 1e6 / start.threads;
}

/// Bandwidth is meaningless for a row that moves almost no bytes.
bool has_rate(const engine::BenchRow& row) { return row.bytes > 0; }

double tflops(const engine::StepBenchRow& row) { return row.flop / row.median_us / 1e6; }

bool recorded(const engine::StepBenchRow& row) { return row.kernels_us > 0; }

/// Whether the suite has steps that keep their weights.
bool beats_column(const engine::StepBenchRow& row) {
  return engine::suite_of(row.step) == engine::BenchSuite::Layer;
}

/// From how many micro-batches on BF16 is beaten: "from 3", "never"; empty = not of this row.
std::string beats_text(const engine::StepBenchRow& row) {
  if (row.beats_bf16_from < 0) return {};
  return row.beats_bf16_from == 0 ? "never" : fmt::format("from {}", row.beats_bf16_from);
}

/// The time of a recorded step beyond its own kernels, relative to their sum.
double overhead(const engine::StepBenchRow& row) { return row.replay_us / row.kernels_us - 1; }

/// The machine, the versions and the date, in every line, so that each is complete by itself.
Json json_of_start(std::string_view suite, const BenchStart& start, const std::string& date) {
  return {{"suite", suite},
          {"date", date},
          {"expertscope", kProgramVersion},
          {"device", start.device.name},
          {"driver", text_or_null(start.device.driver)},
          {"runtime", text_or_null(start.runtime)},
          {"cublaslt", text_or_null(start.device.cublaslt_version)},
          {"threads", start.threads > 0 ? Json(start.threads) : Json()},
          {"times", start.time_method}};
}

}  // namespace

std::string bench_header(engine::BenchSuite suite, const BenchStart& start) {
  std::string text = fmt::format("{:<8}{}\n", "device", start.device.name);
  if (start.threads > 0) {
    text +=
        fmt::format("{:<8}the CPU {} on {} threads, not a GPU; its default shapes are smaller\n",
                    "note", engine::times_steps(suite) ? "reference" : "twins", start.threads);
  } else {
    text += fmt::format("{:<8}driver {}, {}", "with", start.device.driver, start.runtime);
    if (const std::string& version = start.device.cublaslt_version; !version.empty()) {
      text += ", cuBLASLt " + version;
    }
    text += '\n';
  }
  if (!start.no_device.empty()) text += fmt::format("{:<8}{}\n", "no GPU", start.no_device);
  if (!start.peer.empty()) text += fmt::format("{:<8}{}, interleaved\n", "peer", start.peer);
  if (!start.peer_missing.empty()) {
    text += fmt::format("{:<8}no peer: {}\n", "peer", start.peer_missing);
  }
  text += fmt::format("{:<8}{}\n", "times", start.time_method);
  if (!start.kernels_missing.empty()) {
    text += fmt::format("{:<8}not summed: {}\n", "kernels", start.kernels_missing);
  }
  text += start.power_missing.empty()
              ? fmt::format("{:<8}{} (NVML); clocks marked * cover the whole shape\n", "power",
                            start.power_method)
              : fmt::format("{:<8}none: {}\n", "power", start.power_missing);
  return text;
}

// ---- Quantize kernels --------------------------------------------------------------------------

std::string shape_header(const BenchStart& start, const engine::BenchRow& row) {
  std::string text =
      fmt::format("\n{}\n{:<25}{:>11}{:>22}{:>7}{:>8}", engine::bench_shape_text(row.shape),
                  "kernel", "median us", "p5 .. p95", "GB/s", "of copy");
  if (start.threads > 0) return text + fmt::format("{:>16}\n", "Melem/s/core");
  if (!start.power_missing.empty()) return text + "\n";
  return text + kPowerColumns + "\n";
}

std::string row_line(const BenchStart& start, const BenchRowReport& report) {
  const engine::BenchRow& row = report.row;
  std::string text = fmt::format("{:<25}{:>11.2f}{:>22}", row.kernel, row.median_us,
                                 fmt::format("{:.2f} .. {:.2f}", row.p5_us, row.p95_us));
  const bool on_device = start.threads == 0;
  if (has_rate(row)) {
    const double rate = gigabytes_per_second(row);
    text += fmt::format("{:>7.{}f}{:>8.2f}", rate, rate < 100 ? 1 : 0, row.of_copy);
    if (!on_device) text += fmt::format("{:>16.1f}", elements_per_core(start, row) / 1e6);
  } else if (on_device) {
    text += fmt::format("{:>15}", "");
  }
  if (on_device && start.power_missing.empty())
    text += power_columns(report.power, report.power_of_shape);
  return text + "\n";
}

std::string row_json(const BenchStart& start, const std::string& date,
                     const BenchRowReport& report) {
  const engine::BenchRow& row = report.row;
  constexpr const char* kRouting[] = {"uniform", "one-hot", "half"};  // as --shapes names them
  Json json = json_of_start("quantize", start, date);
  json.update({{"shape", engine::bench_shape_text(row.shape)},
               {"experts", row.shape.experts},
               {"rows", row.shape.rows},
               {"columns", row.shape.columns},
               {"routing", kRouting[static_cast<int>(row.shape.routing)]},
               {"kernel", row.kernel},
               {"elements", row.elements},
               {"bytes", row.bytes},
               {"median_us", row.median_us},
               {"p5_us", row.p5_us},
               {"p95_us", row.p95_us},
               {"n", row.samples},
               {"launches", row.launches},
               {"gb_per_s", has_rate(row) ? Json(gigabytes_per_second(row)) : Json()},
               {"of_copy", has_rate(row) ? Json(row.of_copy) : Json()}});
  if (start.threads > 0 && has_rate(row)) {
    json["elements_per_s_per_core"] = elements_per_core(start, row);
  }
  json["power"] = power_json(start, report.power, report.power_of_shape);
  return json.dump() + "\n";
}

// ---- Steps -------------------------------------------------------------------------------------

std::string shape_header(const BenchStart& start, const engine::StepBenchRow& row) {
  const engine::ShapeSpec& shape = row.shape;
  return fmt::format(
      "\n{}: {}{} experts, {} rows, n {}, k {}, {} routing\n"
      "{:<31}{:<32}{:>11}{:>24}{:>9}{:>13}{:>9}{:>12}{}\n",
      shape.preset, row.step == engine::StepKind::ExpertLayer ? "whole expert layer, " : "",
      shape.num_experts, shape.rows, shape.n, shape.k, engine::name_of(row.routing), "subject",
      "part", "median us", "p5 .. p95", "TFLOP/s", "kernels us", "overhead",
      beats_column(row) ? "beats bf16" : "", has_power(start) ? kPowerColumns : "");
}

std::string row_line(const BenchStart& start, const StepRowReport& report) {
  const engine::StepBenchRow& row = report.row;
  if (!row.skipped.empty()) return fmt::format("{:<31}{}\n", row.subject, row.skipped);
  std::string text =
      fmt::format("{:<31}{:<32}{:>11.2f}{:>24}", row.subject, engine::name_of(row.part),
                  row.median_us, fmt::format("{:.2f} .. {:.2f}", row.p5_us, row.p95_us));
  text += row.flop > 0 ? fmt::format("{:>9.{}f}", tflops(row), tflops(row) < 10 ? 3 : 1)
                       : fmt::format("{:>9}", "");
  text += recorded(row) ? fmt::format("{:>13.2f}{:>7.2f} %", row.kernels_us, overhead(row) * 100)
                        : fmt::format("{:>22}", "");
  text += fmt::format("{:>{}}", beats_text(row), beats_column(row) ? 12 : 0);
  if (has_power(start)) {
    text += power_columns(report.power, report.power_of_shape);
  } else {
    text.erase(text.find_last_not_of(' ') + 1);
  }
  return text + "\n";
}

std::string row_json(const BenchStart& start, const std::string& date,
                     const StepRowReport& report) {
  const engine::StepBenchRow& row = report.row;
  Json json = json_of_start(engine::name_of(engine::suite_of(row.step)), start, date);
  json.update({{"peer", text_or_null(start.peer)},
               {"peer_missing", text_or_null(start.peer_missing)},
               {"kernels_missing", text_or_null(start.kernels_missing)},
               {"preset", row.shape.preset},
               {"experts", row.shape.num_experts},
               {"rows", row.shape.rows},
               {"n", row.shape.n},
               {"k", row.shape.k},
               {"routing", engine::name_of(row.routing)},
               {"subject", row.subject}});
  if (!row.skipped.empty()) {
    json["skipped"] = row.skipped;
    return json.dump() + "\n";
  }
  json.update({{"part", engine::name_of(row.part)},
               {"permutation", row.top_k > 0},
               {"top_k", row.top_k > 0 ? Json(row.top_k) : Json()},
               {"flop", row.flop},
               {"median_us", row.median_us},
               {"p5_us", row.p5_us},
               {"p95_us", row.p95_us},
               {"samples", row.samples},
               {"tflops", row.flop > 0 ? Json(tflops(row)) : Json()},
               {"kernels_us", recorded(row) ? Json(row.kernels_us) : Json()},
               {"replay_us", recorded(row) ? Json(row.replay_us) : Json()},
               {"beyond_kernels", recorded(row) ? Json(overhead(row)) : Json()},
               {"beats_bf16_from", row.beats_bf16_from < 0 ? Json() : Json(row.beats_bf16_from)},
               {"power", power_json(start, report.power, report.power_of_shape)}});
  return json.dump() + "\n";
}

}  // namespace app::cli
