// Rows of the window benchmark, as a table or as JSON.
#include "app/cli/window_bench_options.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <utility>

#include "app/cli/command.h"
#include "app/cli/terminal.h"
#include "app/gui/bench/window_bench.h"

namespace app::cli {
namespace {

double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

std::string json_line(const WindowBenchMachine& machine, const std::string& date,
                      const WindowBenchRow& row) {
  nlohmann::ordered_json line = {{"suite", "window"},
                                 {"date", date},
                                 {"what", row.what},
                                 {"records", row.records},
                                 {"n", row.n},
                                 {"unit", row.unit},
                                 {"p50", rounded(row.p50)},
                                 {"p95", rounded(row.p95)},
                                 {"max", rounded(row.maximum)}};
  if (row.present_p50 > 0) line["present_ms_p50"] = rounded(row.present_p50);
  if (row.budget > 0) line["budget"] = row.budget;
  line["processor"] = machine.processor;
  line["threads"] = machine.threads;
  line["gl_renderer"] = machine.gl_renderer;
  line["gl_version"] = machine.gl_version;
  line["width"] = machine.width;
  line["height"] = machine.height;
  line["load_before"] = rounded(machine.load);
  return line.dump() + "\n";
}

std::string text_line(const WindowBenchRow& row) {
  const std::string present =
      row.present_p50 > 0 ? fmt::format("{:.3g}", row.present_p50) : std::string();
  std::string verdict;
  // 19 of 20 frames must stay within it; the worst is shown next to it.
  if (row.budget > 0) {
    verdict = fmt::format("{} {:.4g}", row.p95 <= row.budget ? "within" : "over", row.budget);
  }
  return fmt::format("{:<44}{:>10}{:>6}{:>10.4g}{:>10.4g}{:>10.4g}{:>9}  {:<16}{}\n", row.what,
                     row.records, row.n, row.p50, row.p95, row.maximum, present, row.unit, verdict);
}

}  // namespace

void WindowBenchCommand::add_to(CLI::App& command) {
  command
      .add_option("--records", records_,
                  "window: sizes of synthetic recordings, separated by commas (default: "
                  "1000000,10000000)")
      ->option_text("N")
      ->delimiter(',')
      ->check(CLI::Range(1, 10'000'000));
  command
      .add_option("--recording", recording_,
                  "window: open this recording instead of synthetic ones")
      ->option_text("FILE")
      ->check(CLI::ExistingFile);
}

int WindowBenchCommand::run(const WorkerCommand& worker, bool json, std::ostream* file) const {
  WindowBenchOptions options;
  if (!records_.empty()) options.records = records_;
  options.recording = recording_;
  options.worker = worker;
  const std::string date = fmt::format(
      "{:%Y-%m-%dT%H:%M:%SZ}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  WindowBenchMachine machine;
  const WindowBenchReport to = {
      .machine =
          [&](const WindowBenchMachine& known) {
            machine = known;
            if (json) return;
            print("{:<12}{}\n{:<12}{}, {} threads, load {:.1f}\n{:<12}{}, {}, {}x{}\n", "date",
                  date, "processor", machine.processor, machine.threads, machine.load, "display",
                  machine.gl_renderer, machine.gl_version, machine.width, machine.height);
            print("{:<44}{:>10}{:>6}{:>10}{:>10}{:>10}{:>9}  {}\n", "", "records", "n", "p50",
                  "p95", "max", "GL+swap", "unit            budget (p95)");
          },
      .row =
          [&](const WindowBenchRow& row) {
            const std::string line = json_line(machine, date, row);
            if (file != nullptr) *file << line << std::flush;
            print("{}", json ? line : text_line(row));
            std::fflush(stdout);
          }};
  const engine::Status done = run_window_bench(options, to);
  return done.ok() ? static_cast<int>(kExitOk) : report(done.error());
}

}  // namespace app::cli
