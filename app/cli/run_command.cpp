// `expertscope run`: a request, or a log of them, through one worker; results for people or
// machines.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/progress_bar.h"
#include "app/cli/request_options.h"
#include "app/cli/run_summary.h"
#include "app/cli/worker_session.h"
#include "app/protocol/request_json.h"
#include "app/protocol/request_log.h"
#include "profiling/session/session_file.h"

namespace app::cli {
namespace {

struct RunOptions {
  RequestOptions request;
  std::string request_log;
  WorkerChoice worker;
  std::string record;
  bool json = false;
};

std::int64_t unix_time_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

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

/// Indented when a person may read it, one line each when there are several.
void print_json(const profiling::RecordedRun& run, bool one_line) {
  nlohmann::ordered_json document;
  document["request"] = nlohmann::ordered_json::parse(request_to_json(run.request));
  document["result"] = nlohmann::ordered_json::parse(result_to_json(run.result));
  document["power"] = power_json(run.power);
  document["records"] = run.activity.records.size();
  document["graph_nodes"] = run.activity.nodes.size();
  fmt::print("{}\n", document.dump(one_line ? -1 : 2));
}

engine::Result<std::vector<engine::RunRequest>> requests_of(const RunOptions& options) {
  if (!options.request_log.empty()) {
    auto logged = read_request_log(options.request_log);
    if (!logged.ok()) return logged.error();
    std::vector<engine::RunRequest> requests;
    for (LoggedRequest& one : logged.value()) requests.push_back(std::move(one.request));
    return requests;
  }
  engine::Result<engine::RunRequest> request = options.request.resolve();
  if (!request.ok()) return request.error();
  return std::vector{std::move(request).value()};
}

engine::Result<profiling::RecordedRun> run_one(WorkerSession& session,
                                               const engine::RunRequest& request) {
  session.link().submit(request);
  engine::Result<LinkEvent> done = [&] {
    ProgressBar bar(::isatty(STDERR_FILENO) != 0);
    return session.wait(
        [](const LinkEvent& event) { return std::holds_alternative<RunDone>(event); },
        [&bar](const LinkStatus& status) { bar.show(status); });
  }();
  if (!done.ok()) return done.error();
  auto& finished = std::get<RunDone>(done.value());
  return profiling::RecordedRun{.request = request,
                                .result = std::move(finished.result),
                                .activity = std::move(finished.activity),
                                .wall_clock_ms = unix_time_ms(),
                                .snapshot = std::move(finished.snapshot),
                                .power = std::move(finished.power)};
}

int run(const RunOptions& options) {
  const engine::Result<std::vector<engine::RunRequest>> requests = requests_of(options);
  if (!requests.ok()) return report(requests.error());
  // Before the run: a file that cannot be written must not cost a run first.
  std::unique_ptr<profiling::SessionWriter> writer;
  if (!options.record.empty()) {
    auto created = profiling::SessionWriter::create(options.record, request_codec());
    if (!created.ok()) return report(created.error());
    writer = std::move(created).value();
  }
  const engine::Result<std::unique_ptr<WorkerSession>> started =
      WorkerSession::start(options.worker);
  if (!started.ok()) return report(started.error());

  for (const engine::RunRequest& request : requests.value()) {
    const engine::Result<profiling::RecordedRun> recorded = run_one(*started.value(), request);
    if (!recorded.ok()) return report(recorded.error());
    if (writer != nullptr) {
      if (const engine::Status kept = writer->append(recorded.value()); !kept.ok()) {
        return report(kept.error());
      }
    }
    options.json ? print_json(recorded.value(), requests.value().size() > 1)
                 : print_summary(recorded.value());
  }
  return kExitOk;
}

}  // namespace

void add_run_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand("run", "Run one request and print its result");
  const auto options = std::make_shared<RunOptions>();
  command
      .add_option("--record", options->record,
                  "Keep the run as a recording (a file that is not there yet)")
      ->option_text("FILE");
  command.add_flag("--json", options->json, "Print request and result as JSON");
  command
      .add_option("--requests", options->request_log,
                  "A request log, one JSON request a line (a \"caption\" is for the window's "
                  "tours), run in order on one worker; with --json each result is one line")
      ->option_text("FILE");
  options->worker.add_to(command);
  options->request.add_to(command);
  command.callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace app::cli
