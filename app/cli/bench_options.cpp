#include "app/cli/bench_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>

#include "app/cli/arguments.h"
#include "app/cli/command.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/gui/bench/window_bench.h"
#include "app/protocol/paths.h"
#include "engine/input/presets.h"
#include "engine/input/regular_file.h"
#include "engine/model/values.h"

namespace app::cli {
namespace {

// ---- Steps -------------------------------------------------------------------------------------

using engine::RoutingDistribution;

engine::Result<RoutingDistribution> find_routing(const std::string& name) {
  constexpr const engine::Type& kRouting = engine::kType<RoutingDistribution>;
  RoutingDistribution routing = RoutingDistribution::File;
  const bool known = engine::parse(kRouting, &routing, name);
  if (known && routing != RoutingDistribution::File) return routing;
  std::vector<std::string_view> rules;
  for (const engine::EnumName& one : kRouting.names) {
    if (one.value != static_cast<std::int64_t>(RoutingDistribution::File))
      rules.push_back(one.name);
  }
  return engine::Error{
      engine::ErrorCode::InvalidArgument,
      fmt::format("--routing is '{}'{}; it must be one of {}", name,
                  known ? "" : engine::nearest_name(kRouting, name), fmt::join(rules, ", "))};
}

constexpr std::size_t kMaxScriptBytes = 100'000;  // Linux limits one argument to 128 KiB

/// As an argument, not as a file: the worker may be on another machine.
engine::Result<std::vector<std::string>> torch_peer(const std::string& python) {
  const std::string path = assets_folder() + "/bench/torch_peer.py";
  const engine::Result<std::string> script = engine::read_file(path, kMaxScriptBytes);
  if (!script.ok() || script.value().empty()) {
    return engine::Error{engine::ErrorCode::NotFound,
                         fmt::format("{} cannot be read; it ships with this program", path)};
  }
  return std::vector<std::string>{python, "-c", script.value()};
}

engine::StepBenchShape shape_of(const engine::ShapePreset& preset) {
  return {.shape = preset.shape,
          .activation = preset.activation,
          .bias = preset.bias,
          .top_k = preset.top_k};
}

}  // namespace

void StepBenchOptions::add_to(CLI::App& command) {
  command
      .add_option(
          "--presets", presets_,
          "linear, layer: names of presets without commas in them, separated by commas (default: "
          "every preset of a real model; on a CPU the laptop presets)")
      ->option_text("NAMES")
      ->delimiter(',');
  command
      .add_option("--routing", routings_,
                  "linear, layer: uniform, mild, zipf, heavy, one-hot, half-empty (default: "
                  "uniform,zipf)")
      ->option_text("NAMES")
      ->delimiter(',');
  command
      .add_option("--torch", torch_,
                  "linear, layer: a Python on the worker's machine whose torch is interleaved with "
                  "our steps")
      ->option_text("PYTHON");
}

engine::Result<engine::StepBenchOrder> StepBenchOptions::order(engine::StepKind step) const {
  engine::StepBenchOrder order;
  for (const std::string& name : presets_) {
    ENGINE_ASSIGN(const engine::ShapePreset preset, find_preset(name));
    if (preset.step != step) {
      const bool layer = preset.step == engine::StepKind::ExpertLayer;
      return engine::Error{
          engine::ErrorCode::InvalidArgument,
          fmt::format("'{}' is {}, and this suite times {}: choose --suite {}, or {}", preset.name,
                      layer ? "a whole expert layer" : "a linear step",
                      layer ? "linear steps" : "whole expert layers", layer ? "layer" : "linear",
                      layer ? "one of its projections" : "the preset of a layer")};
    }
    order.shapes.push_back(shape_of(preset));
  }
  if (!routings_.empty()) order.routings.clear();
  for (const std::string& name : routings_) {
    ENGINE_ASSIGN(const RoutingDistribution routing, find_routing(name));
    order.routings.push_back(routing);
  }
  if (torch_.empty()) return order;
  ENGINE_ASSIGN(order.peer, torch_peer(torch_));
  return order;
}

engine::Result<std::vector<engine::StepBenchShape>> default_step_shapes(engine::StepKind step,
                                                                        bool cpu) {
  ENGINE_ASSIGN(const std::vector<engine::ShapePreset> presets,
                engine::load_presets(assets_folder() + "/shapes"));
  std::vector<engine::StepBenchShape> shapes;
  for (const engine::ShapePreset& preset : presets) {
    if (preset.step == step && preset.laptop == cpu) shapes.push_back(shape_of(preset));
  }
  return shapes;
}

// ---- Window ------------------------------------------------------------------------------------

namespace {

double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

std::string window_json(const WindowBenchMachine& machine, const std::string& date,
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

std::string window_line(const WindowBenchRow& row) {
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
      ->check(between(1, 10'000'000));
  command
      .add_option("--recording", recording_,
                  "window: open this recording instead of synthetic ones")
      ->option_text("FILE")
      ->check(existing_file());
}

int WindowBenchCommand::run(const WorkerCommand& worker, bool json, std::ostream* file) const {
  WindowBenchOptions options;
  if (!records_.empty()) options.records = records_;
  options.recording = recording_;
  options.worker = worker;
  const std::string date = date_text();
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
            const std::string line = window_json(machine, date, row);
            if (file != nullptr) *file << line << std::flush;
            print("{}", json ? line : window_line(row));
            std::fflush(stdout);
          }};
  const engine::Status done = run_window_bench(options, to);
  return done.ok() ? static_cast<int>(kExitOk) : report(done.error());
}

}  // namespace app::cli
