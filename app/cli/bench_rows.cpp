#include "app/cli/bench_rows.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/power_columns.h"
#include "app/protocol/wire.h"

namespace app::cli {
namespace {

using Json = nlohmann::ordered_json;

double gigabytes_per_second(const engine::BenchRow& row) { return row.bytes / row.median_us / 1e3; }

/// Elements per second and core, where cores share the work.
double elements_per_core(const BenchStart& start, const engine::BenchRow& row) {
  return static_cast<double>(row.elements) / row.median_us * 1e6 / start.threads;
}

/// Bandwidth is meaningless for a row that moves almost no bytes.
bool has_rate(const engine::BenchRow& row) { return row.bytes > 0; }

}  // namespace

std::string bench_header(const BenchStart& start) {
  std::string text = fmt::format("{:<8}{}\n", "device", start.device.name);
  if (start.threads > 0) {
    text +=
        fmt::format("{:<8}the CPU twins on {} threads, not a GPU; its default shapes are smaller\n",
                    "note", start.threads);
  } else {
    text += fmt::format("{:<8}driver {}, {}\n", "with", start.device.driver, start.runtime);
  }
  if (!start.no_device.empty()) text += fmt::format("{:<8}{}\n", "no GPU", start.no_device);
  text += fmt::format("{:<8}{}\n", "times", start.time_method);
  text += start.power_missing.empty()
              ? fmt::format("{:<8}{} (NVML); clocks marked * cover the whole shape\n", "power",
                            start.power_method)
              : fmt::format("{:<8}none: {}\n", "power", start.power_missing);
  return text;
}

std::string bench_shape_header(const BenchStart& start, const engine::BenchShape& shape) {
  std::string text =
      fmt::format("\n{}\n{:<25}{:>11}{:>22}{:>7}{:>8}", engine::bench_shape_text(shape), "kernel",
                  "median us", "p5 .. p95", "GB/s", "of copy");
  if (start.threads > 0) return text + fmt::format("{:>16}\n", "Melem/s/core");
  if (!start.power_missing.empty()) return text + "\n";
  return text + kPowerColumns + "\n";
}

std::string bench_line(const BenchStart& start, const BenchRowReport& report) {
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

std::string bench_json(const BenchStart& start, const std::string& date,
                       const BenchRowReport& report) {
  const engine::BenchRow& row = report.row;
  constexpr const char* kRouting[] = {"uniform", "one-hot", "half"};
  Json json = {{"suite", "quantize"},
               {"date", date},
               {"expertscope", kProgramVersion},
               {"device", start.device.name},
               {"driver", text_or_null(start.device.driver)},
               {"runtime", text_or_null(start.runtime)},
               {"cublaslt", text_or_null(start.device.cublaslt_version)},
               {"threads", start.threads > 0 ? Json(start.threads) : Json()},
               {"times", start.time_method},
               {"shape", engine::bench_shape_text(row.shape)},
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
               {"of_copy", has_rate(row) ? Json(row.of_copy) : Json()}};
  if (start.threads > 0 && has_rate(row)) {
    json["elements_per_s_per_core"] = elements_per_core(start, row);
  }
  json["power"] = power_json(start, report.power, report.power_of_shape);
  return json.dump() + "\n";
}

}  // namespace app::cli
