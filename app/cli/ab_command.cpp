// `expertscope ab`: two requests in alternating blocks on one worker, and whether one is faster.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/cli/batch_run.h"
#include "app/cli/command.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/protocol/request_files.h"
#include "app/sweep/plan.h"
#include "engine/model/path_text.h"
#include "profiling/compare/comparison_tables.h"
#include "profiling/export/csv.h"

namespace app::cli {
namespace {

using profiling::RunComparison;
using profiling::TimeDifference;

struct AbOptions {
  std::string a;
  std::string b;
  InterleavedOrder order;
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

void print_json(const Batch& batch, const RunComparison& comparison,
                const profiling::SettingsDifference& settings) {
  nlohmann::ordered_json document = time_json(comparison.step);
  document["group"] = batch.id();
  document["state"] = engine::name_of(batch.state());
  document["stages"] = nlohmann::ordered_json::array();
  for (const profiling::StageRow& row : comparison.stages) {
    nlohmann::ordered_json stage = time_json(row.time);
    stage["stage"] = engine::stage_name(row.stage);
    document["stages"].push_back(std::move(stage));
  }
  document["settings"] = nlohmann::ordered_json::array();
  for (const profiling::SettingsRow& row : settings.rows) {
    document["settings"].push_back(
        {{"group", row.group}, {"field", row.field}, {"a", row.a}, {"b", row.b}});
  }
  print("{}\n", document.dump(2));
}

int measure_both(const AbOptions& options) {
  InterleavedOrder order = options.order;
  WorkerChoice worker = options.worker;
  for (const auto& [path, target] :
       {std::pair{&options.a, &order.a}, std::pair{&options.b, &order.b}}) {
    engine::Result<engine::RunRequest> request = read_request(*path);
    if (!request.ok()) return report(request.error());
    *target = std::move(request).value();
    if (const engine::Status name = reconcile_preset_name(*target); !name.ok()) {
      return report({name.error().code, engine::shown_path(*path) + ": " + name.error().message});
    }
    worker.note_library(*target, *path);
  }
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
  if (options.csv) {
    print("{}", csv_text(comparison_table(comparison, settings)));
  } else if (options.json) {
    print_json(batch, comparison, settings);
  } else {
    print_document(difference_document(comparison, settings));
  }
  return end_of(measured, {});
}

}  // namespace

void add_ab_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "ab", "Measure two requests in alternating blocks and say whether one is faster");
  const auto options = std::make_shared<AbOptions>();
  command.add_option("--a", options->a, "Request A as JSON")->option_text("FILE")->required();
  command.add_option("--b", options->b, "Request B as JSON")->option_text("FILE")->required();
  command
      .add_option("--blocks", options->order.blocks,
                  fmt::format("Blocks of A and B together, in random order: an even number from "
                              "{} to {}; fewer than {} give no verdict",
                              kMinBlocks, kMaxBlocks, profiling::fewest_blocks()))
      ->capture_default_str();
  command
      .add_option("--iterations", options->order.iterations,
                  "Iterations of each block; overrides the requests")
      ->capture_default_str();
  command
      .add_option("--record", options->record,
                  "Record every block as a run to this file, which must not exist yet")
      ->option_text("FILE");
  CLI::Option* json = command.add_flag("--json", options->json, "Print the comparison as JSON");
  command
      .add_flag("--csv", options->csv,
                "Print steps, stages, kernels, experts and settings as "
                "CSV")
      ->excludes(json);
  options->worker.add_to(command);
  command.callback([options, &chosen] { chosen = [options] { return measure_both(*options); }; });
}

}  // namespace app::cli
