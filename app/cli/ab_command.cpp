// `expertscope ab`: two requests in alternating blocks on one worker, and whether one is faster.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/batch_run.h"
#include "app/cli/command.h"
#include "app/cli/request_options.h"
#include "app/cli/request_side.h"
#include "app/cli/terminal.h"
#include "app/controllers/request_actions.h"
#include "app/controllers/request_history.h"
#include "app/sweep/plan.h"
#include "engine/model/path_text.h"
#include "profiling/compare/comparison_tables.h"
#include "profiling/document/run_document.h"
#include "profiling/export/csv.h"

namespace app::cli {
namespace {

using profiling::RunComparison;
using profiling::TimeDifference;

struct AbOptions {
  RequestOptions shared;
  std::vector<std::string> a;
  std::vector<std::string> b;
  int blocks = kDefaultBlocks;
  WorkerChoice worker;
  std::string record;
  bool json = false;
  bool csv = false;
};

nlohmann::ordered_json time_json(const TimeDifference& time) {
  nlohmann::ordered_json json;
  json["verdict"] = engine::name_of(time.verdict);
  json["doubt"] = engine::name_of(time.doubt);
  json["reason"] = time.reason;
  json["n_a"] = time.n_a;
  json["n_b"] = time.n_b;
  json["median_a_ns"] = json_number(time.median_a);
  json["median_b_ns"] = json_number(time.median_b);
  json["ratio"] = json_number(time.ratio);
  json["ratio_low"] = json_number(time.interval.low);
  json["ratio_high"] = json_number(time.interval.high);
  json["control_ratio"] = json_number(time.control_ratio);
  json["block_p"] = time.block_p;
  json["clock_ratio"] = time.clock_ratio;
  return json;
}

/// What is compared, in words.
struct Subject {
  std::string shared;  // what both sides have
  DifferenceSides sides;
  const engine::DeviceFacts* device;
  // Of a side that names nothing, why it is what it is; else empty.
  std::string unnamed_a;
  std::string unnamed_b;
};

/// A side without a setting of its own has what both share, which are mostly defaults that nobody
/// has typed.
std::string unnamed(const char* option, const std::vector<std::string>& words) {
  return words.empty()
             ? fmt::format(" (as set for both sides or by default: {} is not given)", option)
             : std::string();
}

Subject subject_of(const AbOptions& options, const profiling::RecordedRun& a,
                   const profiling::RecordedRun& b) {
  const engine::RunRequest* requests[] = {&a.request, &b.request};
  return {.shared = shared_summary_of(requests),
          .sides = difference_sides(a.request, b.request),
          .device = &a.result.device,
          .unnamed_a = unnamed("--a", options.a),
          .unnamed_b = unnamed("--b", options.b)};
}

void print_text(const Subject& subject, const RunComparison& comparison,
                const profiling::SettingsDifference& settings) {
  profiling::Document document;
  profiling::add_subject(document, subject.shared, *subject.device);
  if (subject.sides.a.empty()) {
    document.fact("A and B", "the same request");
  } else {
    document.fact("A", subject.sides.a + subject.unnamed_a);
    document.fact("B", subject.sides.b + subject.unnamed_b);
  }
  document.append(difference_document(comparison, settings));
  print_document(document);
}

void print_json(const Batch& batch, const Subject& subject, const RunComparison& comparison,
                const profiling::SettingsDifference& settings) {
  nlohmann::ordered_json document = time_json(comparison.step);
  document["request"] = subject.shared;
  document["a"] = subject.sides.a;
  document["b"] = subject.sides.b;
  document["device"] = profiling::device_text(*subject.device);
  document["group"] = batch.id();
  document["state"] = engine::name_of(batch.state());
  document["stages"] = nlohmann::ordered_json::array();
  for (const profiling::StageRow& row : comparison.stages) {
    nlohmann::ordered_json stage = time_json(row.time);
    stage["stage"] = engine::stage_name(row.stage);
    document["stages"].push_back(std::move(stage));
  }
  document["deviations"] = nlohmann::ordered_json::array();
  for (const auto& [side, deviations] :
       {std::pair{"A", &settings.deviations_a}, std::pair{"B", &settings.deviations_b}}) {
    for (const engine::Deviation& one : *deviations) {
      document["deviations"].push_back({{"side", side},
                                        {"field", one.field},
                                        {"requested", one.requested},
                                        {"effective", one.effective},
                                        {"reason", one.reason}});
    }
  }
  document["settings"] = nlohmann::ordered_json::array();
  for (const profiling::SettingsRow& row : settings.rows) {
    document["settings"].push_back(
        {{"group", row.group}, {"field", row.field}, {"a", row.a}, {"b", row.b}});
  }
  print("{}\n", document.dump(2));
}

/// Both sides are whole requests, or neither is: what they have in common would be unclear.
engine::Status check_whole_requests(const RequestOptions& shared, const RequestSide& a,
                                    const RequestSide& b) {
  if (a.file().empty() && b.file().empty()) return {};
  if (a.file().empty() || b.file().empty()) {
    const RequestSide& whole = a.file().empty() ? b : a;
    const RequestSide& other = a.file().empty() ? a : b;
    return invalid_argument(fmt::format(
        "{} is the whole request {}: give {} a file as well, or share this one with --request {} "
        "and name what differs, as in {} recipe=bf16",
        whole.option(), engine::shown_path(whole.file()), other.option(),
        engine::shown_path(whole.file()), other.option()));
  }
  if (shared.file().empty()) return {};
  return invalid_argument(fmt::format("--request {} would replace {} and {}; leave it out",
                                      engine::shown_path(shared.file()),
                                      engine::shown_path(a.file()), engine::shown_path(b.file())));
}

/// Two files of one request are a control of the measurement; settings that make no difference are
/// a mistake.
engine::Status check_difference(const InterleavedOrder& order, const RequestSide& a,
                                const RequestSide& b) {
  if (!(order.a == order.b) || !a.file().empty()) return {};
  std::string given = a.settings_text();
  if (const std::string of_b = b.settings_text(); !of_b.empty()) {
    given += (given.empty() ? "" : ", ") + of_b;
  }
  return invalid_argument(
      fmt::format("A and B are the same request{}; name what differs with --a NAME=VALUE "
                  "or --b NAME=VALUE, as in --b recipe=bf16",
                  given.empty() ? "" : fmt::format(", also with {}", given)));
}

engine::Result<InterleavedOrder> order_of(const AbOptions& options, WorkerChoice& worker) {
  ENGINE_ASSIGN(const RequestSide a, RequestSide::read("--a", options.a));
  ENGINE_ASSIGN(const RequestSide b, RequestSide::read("--b", options.b));
  ENGINE_TRY(check_whole_requests(options.shared, a, b));
  if (options.shared.given_field("launch.median_within")) {
    return invalid_argument(
        "--median-within has no effect: blocks have a fixed length; set it with --iterations");
  }
  InterleavedOrder order;
  order.blocks = options.blocks;
  for (const auto& [side, target] : {std::pair{&a, &order.a}, std::pair{&b, &order.b}}) {
    ENGINE_ASSIGN(*target, side->resolve(options.shared, worker.is_here()));
    worker.note_library(*target, side->library_file(options.shared));
  }
  ENGINE_TRY(check_difference(order, a, b));
  if (options.shared.given_field("launch.iterations")) {
    order.iterations = order.a.launch.iterations;
  }
  return order;
}

int measure_both(const AbOptions& options) {
  WorkerChoice worker = options.worker;
  const engine::Result<InterleavedOrder> ordered = order_of(options, worker);
  if (!ordered.ok()) return report(ordered.error());
  const InterleavedOrder& order = ordered.value();
  const auto writer = create_recording(options.record);
  if (!writer.ok()) return report(writer.error());
  const auto started = WorkerSession::start(worker);
  if (!started.ok()) return report(started.error());
  WorkerSession& session = *started.value();
  auto plan = plan_interleaved(order, session.hello(),
                               static_cast<std::uint64_t>(profiling::unix_time_ms()));
  if (!plan.ok()) return report(plan.error());
  Batch batch(profiling::GroupKind::Interleaved, profiling::unix_time_ms(),
              std::move(plan).value());
  const MeasuredBatch measured = measure(session, batch, writer.value().get());
  if (batch.state() == BatchState::Failed) {
    const bool lost = session.link().status().state == LinkState::Lost;
    return end_of(measured, engine::Error{.code = lost ? engine::ErrorCode::Device
                                                       : engine::ErrorCode::InvalidArgument,
                                          .message = batch.error()});
  }
  const profiling::RunSide a = profiling::side_of(measured.runs, "A");
  const profiling::RunSide b = profiling::side_of(measured.runs, "B");
  if (a.empty() || b.empty()) {
    // What cannot be recorded ends the measurement: nobody has cancelled it then.
    engine::Status ended;
    if (measured.kept.ok()) {
      ended = engine::Error{.code = engine::ErrorCode::Cancelled,
                            .message = "cancelled before both sides had run a block"};
    }
    return end_of(measured, ended);
  }
  const RunComparison comparison = compare_runs(a, b, engine::Product::Fprop);
  const profiling::SettingsDifference settings = settings_difference(*a.front(), *b.front());
  const Subject subject = subject_of(options, *a.front(), *b.front());
  if (options.csv) {
    print("{}", csv_text(comparison_table(comparison, settings)));
  } else if (options.json) {
    print_json(batch, subject, comparison, settings);
  } else {
    print_text(subject, comparison, settings);
  }
  return end_of(measured, {});
}

}  // namespace

void add_ab_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "ab", "Measure two requests in alternating blocks and say whether one is faster");
  const auto options = std::make_shared<AbOptions>();
  options->shared.add_to(command);
  for (const auto& [option, words] : {std::pair{"--a", &options->a}, {"--b", &options->b}}) {
    command
        .add_option(option, *words,
                    "What this side has otherwise than the other: an option's name without its "
                    "dashes and its value, as in recipe=bf16. May be repeated. Or the file of a "
                    "whole request, as JSON; both sides must be files then")
        ->option_text("NAME=VALUE")
        ->allow_extra_args(false)
        ->group("Sides");
  }
  // Both have another meaning here than in a single run.
  options->shared.option_of("launch.iterations")
      .description(fmt::format("Iterations of each block, also instead of those in a request's "
                               "file\nan integer, between 1 and {}; default {}",
                               engine::kMaxIterations, InterleavedOrder().iterations));
  options->shared.option_of("launch.median_within").group("");
  command
      .add_option("--blocks", options->blocks,
                  fmt::format("Blocks of A and B together, in random order: an even number from "
                              "{} to {}; fewer than {} give no verdict",
                              kMinBlocks, kMaxBlocks, profiling::fewest_blocks()))
      ->capture_default_str()
      ->group(kSettingGroups[static_cast<std::size_t>(SettingGroup::Measurement)]);
  options->worker.add_to(command);
  command
      .add_option("--record", options->record,
                  "Record every block as a run to this file, which must not exist yet")
      ->option_text("FILE")
      ->group(kOutputGroup);
  CLI::Option* json = command.add_flag("--json", options->json, "Print the comparison as JSON")
                          ->group(kOutputGroup);
  command
      .add_flag("--csv", options->csv, "Print steps, stages, kernels, experts and settings as CSV")
      ->excludes(json)
      ->group(kOutputGroup);
  command.callback([options, &chosen] { chosen = [options] { return measure_both(*options); }; });
}

}  // namespace app::cli
