// `expertscope run`: one request through a worker, its result for people or for machines.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/progress_bar.h"
#include "app/cli/request_options.h"
#include "app/cli/run_summary.h"
#include "app/cli/worker_session.h"
#include "app/protocol/request_json.h"
#include "profiling/session/session_file.h"

namespace app::cli {
namespace {

struct RunOptions {
  RequestOptions request;
  WorkerChoice worker;
  std::string record;
  bool json = false;
};

std::int64_t unix_time_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void print_json(const profiling::RecordedRun& run) {
  nlohmann::ordered_json document;
  document["request"] = nlohmann::ordered_json::parse(request_to_json(run.request));
  document["result"] = nlohmann::ordered_json::parse(result_to_json(run.result));
  document["records"] = run.activity.records.size();
  document["graph_nodes"] = run.activity.nodes.size();
  fmt::print("{}\n", document.dump(2));
}

int run(const RunOptions& options) {
  engine::Result<engine::RunRequest> request = options.request.resolve();
  if (!request.ok()) return report(request.error());
  // Before the run: a file that cannot be written must not cost a run first.
  std::unique_ptr<profiling::SessionWriter> writer;
  if (!options.record.empty()) {
    auto created = profiling::SessionWriter::create(options.record, request_codec());
    if (!created.ok()) return report(created.error());
    writer = std::move(created).value();
  }
  engine::Result<std::unique_ptr<WorkerSession>> started = WorkerSession::start(options.worker);
  if (!started.ok()) return report(started.error());
  WorkerSession& session = *started.value();

  session.link().submit(request.value());
  engine::Result<LinkEvent> done = [&] {
    ProgressBar bar(::isatty(STDERR_FILENO) != 0);
    return session.wait(
        [](const LinkEvent& event) { return std::holds_alternative<RunDone>(event); },
        [&bar](const LinkStatus& status) { bar.show(status); });
  }();
  if (!done.ok()) return report(done.error());
  auto& finished = std::get<RunDone>(done.value());
  const profiling::RecordedRun recorded{.request = std::move(request).value(),
                                        .result = std::move(finished.result),
                                        .activity = std::move(finished.activity),
                                        .wall_clock_ms = unix_time_ms()};
  if (writer != nullptr) {
    if (const engine::Status kept = writer->append(recorded); !kept.ok()) {
      return report(kept.error());
    }
  }
  options.json ? print_json(recorded) : print_summary(recorded);
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
  options->worker.add_to(command);
  options->request.add_to(command);
  command.callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace app::cli
