// `expertscope sweep`: one request varied along axes, as accuracy against time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/batch_run.h"
#include "app/cli/command.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/sweep/plan.h"
#include "engine/input/json_text.h"
#include "engine/input/value_json.h"

namespace app::cli {
namespace {

using profiling::SweepPoint;

struct SweepOptions {
  RequestOptions request;
  std::vector<std::string> axes = {"recipe", "pow2"};
  WorkerChoice worker;
  std::string record;
  bool json = false;
};

SweepAxes axes_of(const std::vector<std::string>& names, const WorkerHello& hello) {
  const auto has = [&](const char* name) { return std::ranges::count(names, name) > 0; };
  SweepAxes axes;
  axes.pow2 = has("pow2");
  if (has("recipe")) axes.recipes = all_scalings();
  if (has("backend")) axes.backends = backends_of(hello);
  if (has("workspace")) axes.workspaces = all_workspaces();
  if (has("routing")) {
    axes.routings = {engine::RoutingDistribution::Uniform, engine::RoutingDistribution::Zipf,
                     engine::RoutingDistribution::OneHot};
  }
  return axes;
}

void print_table(const Batch& batch, const std::vector<SweepPoint>& points) {
  print("{:<44} {:>11} {:>10} {:>10} {:>4} {:>9} {:>9}\n", "settings", "median ms", "p5", "p95",
        "n", "worst dB", "median dB");
  for (const SweepPoint& point : points) {
    print("{:<44} {:>11.4f} {:>10.4f} {:>10.4f} {:>4} {:>9} {:>9}{}\n", point.label,
          point.time.median / 1e6, point.time.p5 / 1e6, point.time.p95 / 1e6, point.time.n,
          decibels(point.worst_snr_db), decibels(point.median_snr_db),
          point.on_frontier ? "  frontier" : "");
  }
  for (const BatchRow& row : batch.rows()) {
    if (row.outcome == Outcome::Refused) {
      print("{:<44} refused: {}\n", row.planned.label, row.planned.refused);
    } else if (row.outcome == Outcome::Failed) {
      print("{:<44} failed: {}\n", row.planned.label, row.error);
    } else if (row.outcome == Outcome::Waiting) {
      print("{:<44} not measured\n", row.planned.label);
    }
  }
}

void print_json(const Batch& batch, const std::vector<SweepPoint>& points) {
  nlohmann::ordered_json document;
  document["group"] = batch.id();
  document["state"] = engine::name_of(batch.state());
  document["runs"] = nlohmann::ordered_json::array();
  std::size_t measured = 0;
  for (const BatchRow& row : batch.rows()) {
    nlohmann::ordered_json entry;
    entry["label"] = row.planned.label;
    entry["request"] = engine::to_json(row.planned.request);
    if (row.outcome == Outcome::Refused) entry["refused"] = row.planned.refused;
    if (row.outcome == Outcome::Failed) entry["failed"] = row.error;
    if (row.outcome == Outcome::Measured) {
      const SweepPoint& point = points[measured++];
      entry["n"] = point.time.n;
      entry["median_ns"] = json_number(point.time.median);
      entry["p5_ns"] = json_number(point.time.p5);
      entry["p95_ns"] = json_number(point.time.p95);
      entry["worst_snr_db"] = json_number(point.worst_snr_db);
      entry["median_snr_db"] = json_number(point.median_snr_db);
      entry["on_frontier"] = point.on_frontier;
    }
    document["runs"].push_back(std::move(entry));
  }
  print("{}\n", document.dump(2));
}

int sweep(const SweepOptions& options) {
  const engine::Result<engine::RunRequest> base = options.request.resolve();
  if (!base.ok()) return report(base.error());
  const auto writer = create_recording(options.record);
  if (!writer.ok()) return report(writer.error());
  WorkerChoice worker = options.worker;
  worker.note_library(base.value(), options.request.library_file());
  const auto started = WorkerSession::start(worker);
  if (!started.ok()) return report(started.error());
  WorkerSession& session = *started.value();
  Batch batch(profiling::GroupKind::Sweep, profiling::unix_time_ms(),
              plan_sweep(base.value(), axes_of(options.axes, session.hello()), session.hello()));
  const auto runs = measure(session, batch, writer.value().get());
  if (!runs.ok()) return report(runs.error());
  std::vector<SweepPoint> points;
  for (const auto& run : runs.value()) {
    points.push_back(profiling::sweep_point(*run, engine::Product::Fprop));
  }
  profiling::mark_frontier(points, profiling::SnrChoice::Worst);
  options.json ? print_json(batch, points) : print_table(batch, points);
  if (batch.state() == BatchState::Failed) {
    return report({.code = engine::ErrorCode::Device, .message = batch.error()});
  }
  return kExitOk;
}

}  // namespace

void add_sweep_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "sweep", "Vary one request along axes and print accuracy against time");
  const auto options = std::make_shared<SweepOptions>();
  command
      .add_option("--axes", options->axes,
                  "What to vary, separated by commas: recipe, pow2, backend, workspace, routing "
                  "(default: recipe,pow2)")
      ->option_text("NAMES")
      ->delimiter(',')
      ->check(one_of({"recipe", "pow2", "backend", "workspace", "routing"}));
  command
      .add_option("--record", options->record,
                  "Record every run to this file, which must not exist yet")
      ->option_text("FILE");
  command.add_flag("--json", options->json, "Print the points as JSON");
  options->worker.add_to(command);
  options->request.add_to(command);
  command.callback([options, &chosen] { chosen = [options] { return sweep(*options); }; });
}

}  // namespace app::cli
