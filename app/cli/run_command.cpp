// `expertscope run`: a request, or a log of them, through one worker; results for people or
// programs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/batch_run.h"
#include "app/cli/command.h"
#include "app/cli/doctor.h"
#include "app/cli/explained_step.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/cli/worker_session.h"
#include "app/controllers/request_actions.h"
#include "app/doctor/core_dump.h"
#include "app/doctor/library_versions.h"
#include "app/doctor/visit.h"
#include "app/protocol/recorded_run.h"
#include "app/protocol/request_files.h"
#include "engine/input/json_text.h"
#include "engine/input/recorded_routing.h"
#include "engine/input/value_json.h"
#include "profiling/document/run_document.h"
#include "profiling/hazards/report/report.h"
#include "profiling/session/session_file.h"

namespace app::cli {
namespace {

struct RunOptions {
  RequestOptions request;
  std::string request_log;
  std::string recorded_routing;
  WorkerChoice worker;
  std::string record;
  std::string core_dump_folder;
  bool comparison = false;
  int history_steps = 0;  // 0 = none
  bool json = false;
  bool explain = false;
};

nlohmann::ordered_json power_json(const profiling::PowerTrace& power) {
  nlohmann::ordered_json samples = nlohmann::ordered_json::array();
  for (const profiling::PowerSample& sample : power.samples) {
    samples.push_back({{"time_ns", sample.time_ns},
                       {"sm_clock_mhz", sample.sm_clock_mhz},
                       {"memory_clock_mhz", sample.memory_clock_mhz},
                       {"power_w", sample.power_w},
                       {"temperature_c", sample.temperature_c},
                       {"clock_limits", profiling::clock_reason_names(sample.clock_reasons)}});
  }
  return {{"method", power.method}, {"missing", power.missing}, {"samples", std::move(samples)}};
}

/// The result without operands that the step does not have: their numbers would mean nothing.
nlohmann::ordered_json result_json(const engine::RunResult& result) {
  nlohmann::ordered_json all = engine::to_json(result);
  nlohmann::ordered_json document;
  for (auto& [name, member] : all.items()) {
    const bool operand = member.is_object() && member.contains("snr_db");
    if (operand && member["elements"] == 0) continue;
    document[name] = std::move(member);
  }
  return document;
}

/// Indented for people; one line each if there are several.
void print_json(const profiling::RecordedRun& run, bool one_line) {
  nlohmann::ordered_json document;
  document["request"] = engine::to_json(run.request);
  document["result"] = result_json(run.result);
  document["power"] = power_json(run.power);
  document["records"] = run.activity.records.size();
  document["graph_nodes"] = run.activity.nodes.size();
  print("{}\n", document.dump(one_line ? -1 : 2));
}

/// The request with the sizes of its routing file, but for those that were given.
engine::Result<engine::RunRequest> sized_by_routing(const RunOptions& options,
                                                    const engine::RunRequest& request) {
  engine::RunRequest routed = request;
  routed.routing.distribution = engine::RoutingDistribution::File;
  routed.routing.path = options.recorded_routing;
  ENGINE_ASSIGN(const engine::RoutingFacts facts, engine::inspect_routing(routed.routing));
  engine::RunRequest fitted = engine::fitted_to_routing(routed, facts);
  const RequestOptions& given = options.request;
  if (given.given_field("shape.num_experts")) fitted.shape.num_experts = request.shape.num_experts;
  if (given.given_field("shape.rows")) fitted.shape.rows = request.shape.rows;
  if (given.given_field("launch.iterations")) fitted.launch.iterations = request.launch.iterations;
  ENGINE_TRY(engine::validate(fitted));
  return fitted;
}

/// A request, and where it was read where a message has to say so: "log.jsonl line 3".
struct PlannedRequest {
  engine::RunRequest request;
  std::string place = {};
};

engine::Error placed(engine::Error error, const PlannedRequest& planned) {
  if (!planned.place.empty()) error.message = planned.place + ": " + error.message;
  return error;
}

engine::Result<std::vector<PlannedRequest>> requests_of(const RunOptions& options) {
  if (!options.request_log.empty()) {
    if (const std::string given =
            options.recorded_routing.empty() ? options.request.given() : "--recorded-routing";
        !given.empty()) {
      return engine::Error{engine::ErrorCode::InvalidArgument,
                           fmt::format("--requests runs the requests of {} as they are; leave out "
                                       "{} or write it into the file",
                                       options.request_log, given)};
    }
    auto logged = read_request_log(options.request_log);
    if (!logged.ok()) return logged.error();
    std::vector<PlannedRequest> requests;
    for (LoggedRequest& one : logged.value()) {
      PlannedRequest planned{.request = std::move(one.request),
                             .place = line_of_log(options.request_log, one.line)};
      if (const engine::Status name = reconcile_preset_name(planned.request); !name.ok()) {
        return placed(name.error(), planned);
      }
      requests.push_back(std::move(planned));
    }
    return requests;
  }
  engine::RunRequest defaults;
  if (!options.recorded_routing.empty()) {
    defaults.routing.distribution = engine::RoutingDistribution::File;
    defaults.routing.path = options.recorded_routing;
  }
  ENGINE_ASSIGN(engine::RunRequest request,
                options.request.resolve(options.worker.is_here(), std::move(defaults)));
  // A file of another machine is its worker's to read: it refuses sizes that do not fit, and says
  // which do.
  if (!options.recorded_routing.empty() && options.worker.is_here()(options.recorded_routing)) {
    ENGINE_ASSIGN(request, sized_by_routing(options, request));
  }
  return std::vector{PlannedRequest{.request = std::move(request)}};
}

/// Reports a stalled run, and records it as a visit to the doctor.
engine::Status report_stall(const RunError& failure, const engine::RunRequest& request,
                            const CoreDumpRequest& core_dump, bool json,
                            profiling::SessionWriter* writer) {
  ENGINE_ASSIGN(const std::vector<profiling::LibraryFact> facts, shipped_facts());
  DoctorDone seen = *failure.stalled;
  for (profiling::Stall& stall : seen.outcome.stall) core_dump.read(stall);
  const profiling::DoctorReport made = report_of_stall(request, seen, facts);
  if (json) {
    const nlohmann::json document = {
        {"request", engine::to_json(request)},
        {"stalled", engine::written_json<nlohmann::json>(profiling::to_json(made))}};
    print("{}\n", document.dump(2));
  } else {
    print("{}\n", report_text(made));
  }
  std::fflush(stdout);
  return keep(writer,
              profiling::RecordedVisit{
                  .request = request, .report = made, .wall_clock_ms = profiling::unix_time_ms()});
}

/// RunDone, or the RunError of a stalled run.
engine::Result<LinkEvent> run_one(WorkerSession& session, const engine::RunRequest& request) {
  return session.perform(request, [](const LinkEvent& event) {
    const auto* failure = std::get_if<RunError>(&event);
    return std::holds_alternative<RunDone>(event) ||
           (failure != nullptr && failure->stalled != nullptr);
  });
}

/// What the window's Numerics page shows in addition to a run, for the same X: recorded, not
/// printed.
engine::Status record_numerics(const RunOptions& options, const engine::RunRequest& request,
                               WorkerSession& session, profiling::SessionWriter& writer) {
  const auto record_comparison = [&](const engine::ComparisonRequest& order) -> engine::Status {
    ENGINE_ASSIGN(engine::RecipeComparison comparison,
                  session.perform<engine::RecipeComparison>(order));
    return keep(&writer, profiling::RecordedComparison{.comparison = std::move(comparison),
                                                       .wall_clock_ms = profiling::unix_time_ms()});
  };
  if (options.comparison) {
    ENGINE_TRY(record_comparison(engine::ComparisonRequest{.request = request, .recipes = {}}));
  }
  if (options.history_steps > 0) {
    engine::ComparisonRequest order = engine::default_series(request);
    order.series->steps = options.history_steps;
    order.series->outlier_step = std::min(order.series->outlier_step, options.history_steps - 1);
    ENGINE_TRY(engine::validate(order));
    return record_comparison(order);
  }
  return {};
}

int run(const RunOptions& options) {
  const engine::Result<std::vector<PlannedRequest>> requests = requests_of(options);
  if (!requests.ok()) return report(requests.error());
  if (options.explain) {
    for (const PlannedRequest& planned : requests.value()) {
      if (const int code = explain_step(planned.request, options.json); code != kExitOk) {
        return code;
      }
    }
    return kExitOk;
  }
  if (options.record.empty() && (options.comparison || options.history_steps > 0)) {
    return report({engine::ErrorCode::InvalidArgument,
                   "--with_comparison and --with_history are kept in a recording: name one with "
                   "--record"});
  }
  // Before the run: an unwritable file must not waste a run.
  const auto created = create_recording(options.record);
  if (!created.ok()) return report(created.error());
  profiling::SessionWriter* const writer = created.value().get();
  if (!options.core_dump_folder.empty() && options.worker.command.remote) {
    return report({engine::ErrorCode::InvalidArgument,
                   "--core-dump names a folder on this machine: it works without --remote only"});
  }
  const CoreDumpRequest core_dump(
      options.core_dump_folder.empty()
          ? std::string()
          : fmt::format("{}/run-{}", options.core_dump_folder, ::getpid()));
  WorkerChoice worker = options.worker;
  worker.command.environment = core_dump.environment();
  for (const auto& [request, place] : requests.value()) {
    worker.note_library(request, options.request_log.empty() ? options.request.library_file()
                                                             : options.request_log);
  }
  const engine::Result<std::unique_ptr<WorkerSession>> started = WorkerSession::start(worker);
  if (!started.ok()) return report(started.error());

  for (const PlannedRequest& planned : requests.value()) {
    const engine::RunRequest& request = planned.request;
    started.value()->announce(request);
    engine::Result<LinkEvent> end = run_one(*started.value(), request);
    if (!end.ok()) return report(placed(end.error(), planned));
    if (const auto* failure = std::get_if<RunError>(&end.value())) {
      if (const engine::Status reported =
              report_stall(*failure, request, core_dump, options.json, writer);
          !reported.ok()) {
        return report(reported.error());
      }
      return report(placed(failure->error, planned));
    }
    const profiling::RecordedRun run =
        recorded_run(std::get<RunDone>(std::move(end).value()), request);
    const engine::Status kept = keep(writer, run);
    // Printed in any case: what could not be recorded is at least reported.
    options.json ? print_json(run, requests.value().size() > 1)
                 : print_document(profiling::run_document(run, summary_of(run.request)));
    std::fflush(stdout);  // a file or another program has it before the next run begins
    if (!kept.ok()) return report(kept.error());
  }
  if (writer != nullptr) {
    const engine::Status kept =
        record_numerics(options, requests.value().front().request, *started.value(), *writer);
    if (!kept.ok()) return report(kept.error());
  }
  if (const engine::Status closed = close_recording(writer); !closed.ok()) {
    return report(closed.error());
  }
  return kExitOk;
}

}  // namespace

void add_run_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand("run", "Run one request and print its result");
  const auto options = std::make_shared<RunOptions>();
  options->request.add_to(command);
  command
      .add_option("--requests", options->request_log,
                  "A request log, one JSON request per line (a \"caption\" is for the window's "
                  "tours), run in order on one worker; with --json each result is one line")
      ->option_text("FILE")
      ->group(kRequestGroup);
  command
      .add_option(
          "--recorded-routing", options->recorded_routing,
          "Replay the routing of this file (.npy, .npz, .safetensors, .json): splits by step, or "
          "experts of tokens from vLLM, SGLang or Megatron; experts, tokens and iterations "
          "are the file's unless given, or --remote is")
      ->option_text("FILE")
      ->check(existing_file())
      ->group(kSettingGroups[static_cast<std::size_t>(SettingGroup::Routing)]);
  options->worker.add_to(command);
  command
      .add_option("--record", options->record,
                  "Record the run to this file, which must not exist yet")
      ->option_text("FILE")
      ->group(kOutputGroup);
  command
      .add_flag("--with-comparison", options->comparison,
                "Afterwards compare every recipe on X of the (first) request, kept in the "
                "recording")
      ->group(kOutputGroup);
  command
      .add_option("--with-history", options->history_steps,
                  "Afterwards step delayed scaling on X of the (first) request, with an outlier "
                  "at step 8, kept in the recording")
      ->option_text("STEPS")
      ->check(between(1, engine::kMaxSeriesSteps))
      ->group(kOutputGroup);
  command
      .add_option("--core-dump", options->core_dump_folder,
                  "Folder for a core dump of the device if a replay hangs: where the kernel is, "
                  "read with cuda-gdb if that is installed; worker on this machine only")
      ->option_text("FOLDER")
      ->check(existing_folder())
      ->group(kOutputGroup);
  command.add_flag("--json", options->json, "Print request and result as JSON")
      ->group(kOutputGroup);
  command
      .add_flag("--explain", options->explain,
                "Run nothing: print what the step would do, operation by operation, with the "
                "bytes and FLOP of each")
      ->group(kOutputGroup);
  command.callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace app::cli
