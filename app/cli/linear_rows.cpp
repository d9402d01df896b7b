#include "app/cli/linear_rows.h"

#include <fmt/format.h>

#include "app/cli/power_columns.h"
#include "app/protocol/wire.h"

namespace app::cli {
namespace {

using Json = nlohmann::ordered_json;

double tflops(const engine::LinearBenchRow& row) { return row.flop / row.median_us / 1e6; }

bool recorded(const engine::LinearBenchRow& row) { return row.kernels_us > 0; }

/// The time of a recorded step beyond its own kernels, relative to their sum.
double overhead(const engine::LinearBenchRow& row) { return row.replay_us / row.kernels_us - 1; }

bool has_power(const BenchStart& start) {
  return start.threads == 0 && start.power_missing.empty();
}

}  // namespace

std::string linear_header(const BenchStart& start) {
  std::string text = fmt::format("{:<8}{}\n", "device", start.device.name);
  if (start.threads > 0) {
    text += fmt::format(
        "{:<8}the CPU reference on {} threads, not a GPU; its default presets are small ones\n",
        "note", start.threads);
  } else {
    text += fmt::format("{:<8}driver {}, {}, cuBLASLt {}\n", "with", start.device.driver,
                        start.runtime, start.device.cublaslt_version);
  }
  if (!start.no_device.empty()) text += fmt::format("{:<8}{}\n", "no GPU", start.no_device);
  if (!start.peer.empty()) text += fmt::format("{:<8}{}, interleaved\n", "peer", start.peer);
  if (!start.peer_missing.empty()) {
    text += fmt::format("{:<8}no torch: {}\n", "peer", start.peer_missing);
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

std::string linear_shape_header(const BenchStart& start, const engine::LinearBenchRow& row) {
  const engine::ShapeSpec& shape = row.shape;
  return fmt::format(
      "\n{}: {} experts, {} tokens, n {}, k {}, {} routing\n"
      "{:<31}{:<13}{:>11}{:>24}{:>9}{:>13}{:>9}{}\n",
      shape.preset, shape.num_experts, shape.tokens, shape.n, shape.k, engine::name_of(row.routing),
      "subject", "part", "median us", "p5 .. p95", "TFLOP/s", "kernels us", "beyond",
      has_power(start) ? kPowerColumns : "");
}

std::string linear_line(const BenchStart& start, const LinearRowReport& report) {
  const engine::LinearBenchRow& row = report.row;
  if (!row.skipped.empty()) return fmt::format("{:<31}{}\n", row.subject, row.skipped);
  std::string text =
      fmt::format("{:<31}{:<13}{:>11.2f}{:>24}", row.subject, engine::name_of(row.part),
                  row.median_us, fmt::format("{:.2f} .. {:.2f}", row.p5_us, row.p95_us));
  text += row.flop > 0 ? fmt::format("{:>9.{}f}", tflops(row), tflops(row) < 10 ? 3 : 1)
                       : fmt::format("{:>9}", "");
  text += recorded(row) ? fmt::format("{:>13.2f}{:>8.2f}%", row.kernels_us, overhead(row) * 100)
                        : fmt::format("{:>{}}", "", has_power(start) ? 22 : 0);
  if (has_power(start)) text += power_columns(report.power, report.power_of_shape);
  return text + "\n";
}

std::string linear_json(const BenchStart& start, const std::string& date,
                        const LinearRowReport& report) {
  const engine::LinearBenchRow& row = report.row;
  Json json = {{"suite", "linear"},
               {"date", date},
               {"expertscope", kProgramVersion},
               {"device", start.device.name},
               {"driver", text_or_null(start.device.driver)},
               {"runtime", text_or_null(start.runtime)},
               {"cublaslt", text_or_null(start.device.cublaslt_version)},
               {"threads", start.threads > 0 ? Json(start.threads) : Json()},
               {"peer", text_or_null(start.peer)},
               {"peer_missing", text_or_null(start.peer_missing)},
               {"kernels_missing", text_or_null(start.kernels_missing)},
               {"times", start.time_method},
               {"preset", row.shape.preset},
               {"experts", row.shape.num_experts},
               {"tokens", row.shape.tokens},
               {"n", row.shape.n},
               {"k", row.shape.k},
               {"routing", engine::name_of(row.routing)},
               {"subject", row.subject}};
  if (!row.skipped.empty()) {
    json["skipped"] = row.skipped;
    return json.dump() + "\n";
  }
  json["part"] = engine::name_of(row.part);
  json["flop"] = row.flop;
  json["median_us"] = row.median_us;
  json["p5_us"] = row.p5_us;
  json["p95_us"] = row.p95_us;
  json["samples"] = row.samples;
  json["tflops"] = row.flop > 0 ? Json(tflops(row)) : Json();
  json["kernels_us"] = recorded(row) ? Json(row.kernels_us) : Json();
  json["replay_us"] = recorded(row) ? Json(row.replay_us) : Json();
  json["beyond_kernels"] = recorded(row) ? Json(overhead(row)) : Json();
  json["power"] = power_json(start, report.power, report.power_of_shape);
  return json.dump() + "\n";
}

}  // namespace app::cli
