// `expertscope sweep`: one request varied along axes, as accuracy against time.
#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "app/cli/typed_line.h"
#include "app/sweep/plan.h"
#include "engine/input/json_text.h"
#include "engine/input/value_json.h"
#include "profiling/compare/comparison_tables.h"

namespace app::cli {
namespace {

using profiling::SweepPoint;

struct SweepOptions {
  RequestOptions request;
  std::vector<std::string> axes;  // empty = kDefaultAxes, without those that an option fixes
  WorkerChoice worker;
  std::string record;
  bool json = false;
};

/// What can be varied, and the field of the request that it varies.
struct Axis {
  const char* name;
  const char* field;
};
constexpr Axis kAxes[] = {{"recipe", "recipe.scaling"},
                          {"pow2", "recipe.pow2_scales"},
                          {"backend", "backend"},
                          {"workspace", "workspace"},
                          {"routing", "routing.distribution"}};
const std::vector<std::string> kDefaultAxes = {"recipe", "pow2"};

std::vector<std::string> axis_names() {
  std::vector<std::string> names;
  for (const Axis& axis : kAxes) names.emplace_back(axis.name);
  return names;
}

/// What is varied: a value given on the command line is not. A contradiction is an error.
engine::Result<std::vector<std::string>> varied_axes(const SweepOptions& options) {
  std::vector<std::string> varied;
  std::string fixed;
  for (const std::string& name : options.axes.empty() ? kDefaultAxes : options.axes) {
    if (std::ranges::find(varied, name) != varied.end()) {
      return engine::Error{engine::ErrorCode::InvalidArgument,
                           fmt::format("--axes names '{}' twice; name it once", name)};
    }
    const char* field = std::ranges::find(kAxes, name, &Axis::name)->field;
    if (!options.request.given_field(field)) {
      varied.push_back(name);
    } else if (options.axes.empty()) {
      fixed += fmt::format("{}{}", fixed.empty() ? "" : " and ", typed_option(field));
    } else {
      return engine::Error{engine::ErrorCode::InvalidArgument,
                           fmt::format("--axes {} varies what {} fixes: leave out one of them",
                                       name, typed_option(field))};
    }
  }
  if (!varied.empty()) return varied;
  return engine::Error{
      engine::ErrorCode::InvalidArgument,
      fmt::format("nothing is left to vary, since {} fix it; leave one out, or name what to vary "
                  "with --axes: {}",
                  fixed, fmt::join(axis_names(), ", "))};
}

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

void print_table(const Batch& batch, const std::vector<std::string>& varied,
                 const std::vector<SweepPoint>& points) {
  profiling::Document document;
  document.fact("varied", fmt::format("{}", fmt::join(varied, ", ")));
  for (const BatchRow& row : batch.rows()) {
    if (row.outcome == Outcome::Refused) {
      document.fact("refused", row.planned.label + ": " + row.planned.refused);
    } else if (row.outcome == Outcome::Failed) {
      document.fact("failed", row.planned.label + ": " + row.error);
    } else if (row.outcome == Outcome::Waiting) {
      document.fact("unmeasured", row.planned.label);
    }
  }
  document.table(profiling::sweep_table(points));
  print_document(document);
}

void print_json(const Batch& batch, const std::vector<std::string>& varied,
                const std::vector<SweepPoint>& points) {
  nlohmann::ordered_json document;
  document["group"] = batch.id();
  document["state"] = engine::name_of(batch.state());
  document["varied"] = varied;
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
      entry["left_out"] = point.left_out;
      entry["on_frontier"] = point.on_frontier;
    }
    document["runs"].push_back(std::move(entry));
  }
  print("{}\n", document.dump(2));
}

int sweep(const SweepOptions& options) {
  const engine::Result<engine::RunRequest> base =
      options.request.resolve(options.worker.input_files());
  if (!base.ok()) return report(base.error());
  const auto varied = varied_axes(options);
  if (!varied.ok()) return report(varied.error());
  const auto writer = create_recording(options.record);
  if (!writer.ok()) return report(writer.error());
  WorkerChoice worker = options.worker;
  worker.note_library(base.value(), options.request.library_file());
  const auto started = WorkerSession::start(worker);
  if (!started.ok()) return report(started.error());
  WorkerSession& session = *started.value();
  Batch batch(profiling::GroupKind::Sweep, profiling::unix_time_ms(),
              plan_sweep(base.value(), axes_of(varied.value(), session.hello()), session.hello()));
  const MeasuredBatch measured = measure(session, batch, writer.value().get());
  std::vector<SweepPoint> points;
  for (const auto& run : measured.runs) {
    points.push_back(profiling::sweep_point(*run, engine::Product::Fprop));
  }
  profiling::mark_frontier(points, profiling::SnrChoice::Worst);
  options.json ? print_json(batch, varied.value(), points)
               : print_table(batch, varied.value(), points);
  engine::Status ended;
  if (batch.state() == BatchState::Failed) {
    ended = engine::Error{.code = engine::ErrorCode::Device, .message = batch.error()};
  }
  return end_of(measured, ended);
}

}  // namespace

void add_sweep_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "sweep", "Vary one request along axes and print accuracy against time");
  const auto options = std::make_shared<SweepOptions>();
  command
      .add_option("--axes", options->axes,
                  fmt::format("What to vary, separated by commas: {} (default: {}, except what an "
                              "option of the request fixes)",
                              fmt::join(axis_names(), ", "), fmt::join(kDefaultAxes, ",")))
      ->option_text("NAMES")
      ->delimiter(',')
      ->transform(one_of(axis_names()));
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
