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
#include "app/controllers/request_actions.h"
#include "app/sweep/plan.h"
#include "engine/input/json_text.h"
#include "engine/input/value_json.h"
#include "profiling/compare/comparison_tables.h"
#include "profiling/document/run_document.h"
#include "profiling/export/csv.h"

namespace app::cli {
namespace {

using profiling::SweepPoint;

struct SweepOptions {
  RequestOptions request;
  std::vector<std::string> axes;  // empty = kDefaultAxes, without those that an option fixes, or
                                  // none if options list several values
  WorkerChoice worker;
  std::string record;
  bool json = false;
  bool csv = false;
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

/// What is varied besides the numbers: a value given on the command line is not. A contradiction is
/// an error.
engine::Result<std::vector<std::string>> varied_axes(const SweepOptions& options,
                                                     const std::vector<NumberAxis>& numbers) {
  std::vector<std::string> varied;
  if (options.axes.empty() && !numbers.empty()) return varied;
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
      fmt::format("nothing is left to vary, since {} fix it; leave one out, list several values "
                  "(--recipe bf16,mxfp8 or --rows 256,1024), or name what to vary with --axes: {}",
                  fixed, fmt::join(axis_names(), ", "))};
}

SweepAxes axes_of(const std::vector<std::string>& names, std::vector<NumberAxis> numbers,
                  const WorkerHello& hello) {
  const auto has = [&](const char* name) { return std::ranges::count(names, name) > 0; };
  SweepAxes axes{.numbers = std::move(numbers)};
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

/// A point for every row of the batch, in its order.
std::vector<SweepPoint> points_of(const Batch& batch, const profiling::RunList& runs) {
  std::vector<SweepPoint> points;
  std::size_t measured = 0;
  for (const BatchRow& row : batch.rows()) {
    if (row.outcome == Outcome::Measured) {
      points.push_back(profiling::sweep_point(*runs[measured++], engine::Product::Fprop));
      continue;
    }
    points.push_back(
        profiling::unmeasured_point(row.planned.request, row.planned.label, row.unmeasured()));
  }
  for (SweepPoint& point : points) point.summary = summary_of(point.request);
  profiling::mark_frontier(points, profiling::SnrChoice::Worst);
  return points;
}

/// What all runs of the batch have in common.
std::string request_words(const Batch& batch) {
  std::vector<const engine::RunRequest*> requests;
  for (const BatchRow& row : batch.rows()) requests.push_back(&row.planned.request);
  return shared_summary_of(requests);
}

/// Doubts name the points by their place among these.
std::vector<SweepPoint> measured_of(const std::vector<SweepPoint>& points) {
  std::vector<SweepPoint> kept;
  std::vector<std::size_t> places;
  for (const SweepPoint& point : points) {
    places.push_back(kept.size());
    if (point.unmeasured.empty()) kept.push_back(point);
  }
  for (SweepPoint& point : kept) {
    if (point.doubt) point.doubt->other = places[point.doubt->other];
  }
  return kept;
}

void print_table(const Batch& batch, const MeasuredBatch& measured,
                 const std::vector<std::string>& varied, const SweepIterations& iterations,
                 std::vector<SweepPoint> points) {
  profiling::Document document;
  if (!measured.runs.empty()) {
    profiling::add_subject(document, request_words(batch), measured.runs.front()->result.device);
  }
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
  std::vector<std::string> undecided;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].doubt) continue;
    undecided.push_back(
        doubt_words(points, i, points[i].label, points[points[i].doubt->other].label));
  }
  points = measured_of(points);  // the facts above have said why the others are not
  document.table(profiling::sweep_table(points));
  if (iterations.points > 1) document.fact("samples", iterations.words());
  for (std::string& why : undecided) document.fact("why", std::move(why));
  print_document(document);
}

void print_json(const Batch& batch, const MeasuredBatch& measured,
                const std::vector<std::string>& varied, const SweepIterations& iterations,
                const std::vector<SweepPoint>& points) {
  nlohmann::ordered_json document;
  document["group"] = batch.id();
  document["state"] = engine::name_of(batch.state());
  document["request"] = request_words(batch);
  if (!measured.runs.empty()) {
    document["device"] = profiling::device_text(measured.runs.front()->result.device);
  }
  document["varied"] = varied;
  document["iterations_needed"] = iterations.needed;
  document["runs"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const BatchRow& row = batch.rows()[i];
    nlohmann::ordered_json entry;
    entry["label"] = row.planned.label;
    entry["request"] = engine::to_json(row.planned.request);
    if (row.outcome == Outcome::Refused) entry["refused"] = row.planned.refused;
    if (row.outcome == Outcome::Failed) entry["failed"] = row.error;
    if (row.outcome == Outcome::Measured) {
      const SweepPoint& point = points[i];
      entry["n"] = point.time.n;
      entry["median_ns"] = json_number(point.time.median);
      entry["p5_ns"] = json_number(point.time.p5);
      entry["p95_ns"] = json_number(point.time.p95);
      entry["worst_snr_db"] = json_number(point.worst_snr_db);
      entry["median_snr_db"] = json_number(point.median_snr_db);
      entry["left_out"] = point.left_out;
      entry["frontier"] = engine::name_of(point.frontier);
      if (point.doubt) {
        entry["frontier_doubt"] =
            profiling::doubt_words(points, i, point.label, points[point.doubt->other].label);
      }
    }
    document["runs"].push_back(std::move(entry));
  }
  print("{}\n", document.dump(2));
}

int sweep(const SweepOptions& options) {
  const engine::Result<engine::RunRequest> base = options.request.resolve(options.worker.is_here());
  if (!base.ok()) return report(base.error());
  const auto numbers = options.request.number_axes();
  if (!numbers.ok()) return report(numbers.error());
  const auto axes = varied_axes(options, numbers.value());
  if (!axes.ok()) return report(axes.error());
  std::vector<std::string> varied = axes.value();
  for (const NumberAxis& axis : numbers.value()) varied.push_back(short_name(axis.field));
  const auto writer = create_recording(options.record);
  if (!writer.ok()) return report(writer.error());
  WorkerChoice worker = options.worker;
  worker.note_library(base.value(), options.request.library_file());
  const auto started = WorkerSession::start(worker);
  if (!started.ok()) return report(started.error());
  WorkerSession& session = *started.value();
  SweepAxes wanted = axes_of(axes.value(), numbers.value(), session.hello());
  wanted.iterations_chosen = options.request.given_field("launch.iterations");
  auto plan = plan_sweep(base.value(), wanted, session.hello());
  if (!plan.ok()) return report(plan.error());
  const SweepIterations iterations = iterations_of(plan.value());
  if (iterations.too_few()) print(stderr, "expertscope: {}\n", iterations.words());
  Batch batch(profiling::GroupKind::Sweep, profiling::unix_time_ms(), std::move(plan).value());
  const MeasuredBatch measured = measure(session, batch, writer.value().get());
  const std::vector<SweepPoint> points = points_of(batch, measured.runs);
  if (options.csv) {
    // A CSV has no place for a sentence.
    const std::string scope = profiling::frontier_scope_words(points);
    if (!scope.empty()) print(stderr, "expertscope: {}\n", scope);
    print("{}", profiling::csv_text(profiling::sweep_table(points)));
  } else if (options.json) {
    print_json(batch, measured, varied, iterations, points);
  } else {
    print_table(batch, measured, varied, iterations, points);
  }
  engine::Status ended;
  if (batch.state() == BatchState::Failed) {
    ended = engine::Error{.code = engine::ErrorCode::Device, .message = batch.error()};
  } else if (batch.progress(0.0, 0.0).total == 0) {
    ended = engine::Error{.code = engine::ErrorCode::InvalidArgument,
                          .message = "no run of this sweep can be measured; each says why"};
  }
  return end_of(measured, ended);
}

}  // namespace

void add_sweep_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "sweep",
      "Vary one request along axes and print accuracy against time. Only points of the "
      "same shape, routing and seed are compared for the frontier");
  const auto options = std::make_shared<SweepOptions>();
  command
      .add_option(
          "--axes", options->axes,
          fmt::format("What to vary, separated by commas: {} (default: {}, except what an "
                      "option of the request fixes, or nothing if an option lists several "
                      "values: --recipe bf16,mxfp8 --rows 256,1024,4096 has a run for every "
                      "combination, at most {})",
                      fmt::join(axis_names(), ", "), fmt::join(kDefaultAxes, ","), kMaxSweepRuns))
      ->option_text("NAMES")
      ->delimiter(',')
      ->transform(one_of(axis_names()));
  command
      .add_option("--record", options->record,
                  "Record every run to this file, which must not exist yet")
      ->option_text("FILE");
  CLI::Option* json = command.add_flag("--json", options->json, "Print the points as JSON");
  command
      .add_flag("--csv", options->csv,
                "Print the points as CSV, with a column for every setting that varies")
      ->excludes(json);
  options->worker.add_to(command);
  options->request.add_to(command, RequestOptions::Lists::Allowed);
  // Its default is another than in a single run.
  options->request.option_of("launch.iterations")
      .description(fmt::format("Iterations of each run, or several\nintegers, between 1 and {}; "
                               "default {}, or as many as a verdict among all points needs",
                               engine::kMaxIterations, engine::LaunchMode{}.iterations));
  command.callback([options, &chosen] { chosen = [options] { return sweep(*options); }; });
}

}  // namespace app::cli
