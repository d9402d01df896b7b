#include "app/cli/worker_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "app/cli/arguments.h"
#include "app/cli/terminal.h"
#include "app/controllers/run_estimate.h"
#include "app/doctor/worker_runner.h"
#include "app/protocol/liveness.h"
#include "app/sweep/plan.h"

namespace app::cli {

namespace {

constexpr const char* kGroup = "Worker";

}  // namespace

void WorkerChoice::add_machine_to(CLI::App& app, HostIs host) {
  machine = std::make_shared<RemoteMachine>();
  const auto name = [this](const std::string& given) {
    command.remote = given;
    machine->options.host = given;
  };
  constexpr const char* kMachine =
      "Run on this machine, as ssh names it; the worker is sent there if it has not been";
  if (host == HostIs::Option) {
    app.add_option_function<std::string>("--remote", name, kMachine)
        ->option_text("HOST")
        ->group(kGroup);
  } else {
    app.add_option_function<std::string>("host", name, "The machine, as ssh names it")
        ->option_text("HOST")
        ->required();
  }
  app.add_option("--remote-gpu", machine->options.gpu,
                 "GPU of that machine, as nvidia-smi counts them (default: all are visible)")
      ->option_text("INDEX")
      ->group(kGroup)
      ->check(at_least(0));
  // By its word: CLI11 converts enumerations from numbers only.
  app.add_option_function<std::string>(
         "--remote-cublaslt",
         [this](const std::string& word) {
           machine->options.library = names_of<ProvideLibrary>().at(word);
         },
         "How that machine gets cuBLASLt: fetch (there, from PyPI), send (from here), skip, "
         "or automatic, which tries them in this order (default: automatic)")
      ->option_text("HOW")
      ->group(kGroup)
      ->transform(enumerator(engine::kType<ProvideLibrary>));
  app.add_option("--launcher", machine->options.launcher,
                 "Words that start the worker there, such as srun --gpus=1: one option per word")
      ->option_text("WORD")
      ->group(kGroup)
      ->allow_extra_args(false);
}

void WorkerChoice::add_to(CLI::App& app, bool with_library, Waits waits) {
  app.add_option("--worker", command.program,
                 "Worker program (default: the one next to this program); with --remote, a program "
                 "that is there already")
      ->option_text("PATH")
      ->group(kGroup);
  add_machine_to(app, HostIs::Option);
  if (with_library) {
    app.add_option("--cublaslt", command.cublaslt, "cuBLASLt library the worker loads")
        ->option_text("PATH")
        ->group(kGroup);
    app.add_option("--allow-library", allowed_libraries,
                   "A cuBLASLt library that a file (request, log, tour, recording) may name; any "
                   "other than the worker's own is refused. Can be given several times")
        ->option_text("PATH")
        ->group(kGroup)
        ->allow_extra_args(false);
  }
  app.add_option("--worker-backend", command.backend,
                 "Backends the worker offers: auto, cpu or cuda (default: auto)")
      ->option_text("NAME")
      ->group(kGroup)
      ->transform(one_of({"auto", "cpu", "cuda"}));
  if (waits == Waits::InWindow) return;
  app.add_option(
         "--timeout", timeout_seconds,
         fmt::format(
             "Give up on a worker that shows no sign of progress for this many seconds, with "
             "exit code 2 (doctor: 3); 0 = never (default: {:g}; doctor's "
             "experiments: {:g} to greet, {:g} to set up). How long a run takes in "
             "total does not matter",
             WaitReporter::kDefaultLimitSeconds, WorkerRunner::Options{}.start_seconds,
             WorkerRunner::Options{}.setup_seconds))
      ->option_text("SECONDS")
      ->group(kGroup)
      ->check(at_least(0));
}

RequestOptions::IsHere WorkerChoice::is_here() const {
  const std::string host = command.remote.value_or(std::string());
  const bool none = command.remote && !sends_worker();
  return [host, none](const std::string& path) { return !none && !path_on(host, path); };
}

void report_wait(const std::string& word) {
  if (::isatty(STDERR_FILENO) != 0) show_line("");
  print(stderr, "expertscope: {}\n", word);
}

void WorkerChoice::note_library(const engine::RunRequest& request, const std::string& file) {
  if (request.cublaslt_library.empty()) return;
  if (file.empty()) {
    allowed_libraries.push_back(request.cublaslt_library);
  } else {
    libraries_of_files.push_back({request.cublaslt_library, file});
  }
}

engine::Status WorkerChoice::check_libraries_of_files() const {
  const bool all_allowed = std::ranges::all_of(libraries_of_files, [this](const NamedLibrary& one) {
    return std::ranges::find(allowed_libraries, one.library) != allowed_libraries.end();
  });
  if (all_allowed) return {};
  const auto session = WorkerSession::start(*this);
  return session.ok() ? engine::Status() : session.error();
}

WorkerSession::WorkerSession(std::vector<std::string> argv, const WorkerChoice& choice)
    : machine_(choice.sends_worker() ? choice.machine : nullptr),
      limit_seconds_(choice.timeout_seconds.value_or(WaitReporter::kDefaultLimitSeconds)),
      link_({.argv = std::move(argv),
             .wake = {},
             .allowed_libraries = choice.allowed_libraries,
             .remote = choice.command.remote.has_value()}) {}

engine::Result<std::unique_ptr<WorkerSession>> WorkerSession::start(const WorkerChoice& choice) {
  ENGINE_ASSIGN(const WorkerCommand command, choice.reached());
  ENGINE_ASSIGN(std::vector<std::string> argv, command.argv());
  std::unique_ptr<WorkerSession> session(new WorkerSession(std::move(argv), choice));
  ENGINE_ASSIGN(
      LinkEvent greeting,
      session->wait(
          [](const LinkEvent& event) { return std::holds_alternative<WorkerHello>(event); }, {}));
  session->hello_ = std::get<WorkerHello>(std::move(greeting));
  for (const WorkerChoice::NamedLibrary& one : choice.libraries_of_files) {
    if (may_load(session->hello_, choice.allowed_libraries, one.library)) continue;
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         library_refusal(one.file, one.library)};
  }
  return session;
}

engine::Result<LinkEvent> WorkerSession::wait(const std::function<bool(const LinkEvent&)>& wanted,
                                              const std::function<void(const LinkStatus&)>& watch) {
  WaitReporter patience(limit_seconds_, quiet_seconds_);
  while (true) {
    link_.wait_for(std::chrono::milliseconds(200));
    // Status first: events that arrived before the worker ended must be handled before its end.
    const LinkStatus status = link().status();
    std::optional<engine::Result<LinkEvent>> end;
    for (LinkEvent& event : link().poll()) {
      if (const auto* log = std::get_if<LogReport>(&event)) {
        progress_.erase();
        print(stderr, "worker: {}\n", log->text);  // after its end too: it may say why
      } else if (end) {
        continue;
      } else if (wanted(event)) {
        end.emplace(std::move(event));
      } else if (const auto* failure = std::get_if<RunError>(&event)) {
        end.emplace(failure->error);
      }
    }
    if (status.dropped_logs > dropped_logs_) {
      progress_.erase();
      print(stderr, "worker: {} older lines were dropped: it writes faster than they are read\n",
            status.dropped_logs - dropped_logs_);
      dropped_logs_ = status.dropped_logs;
    }
    if (end) return *std::move(end);
    if (status.state == LinkState::Lost) {
      return engine::Error{engine::ErrorCode::Device, "the worker is lost: " + status.reason};
    }
    if (const auto word = patience.word(status)) report_wait(*word);
    if (const auto why = patience.give_up_reason(status)) {
      return engine::Error{engine::ErrorCode::Device, *why};
    }
    if (watch) watch(status);
  }
}

void WorkerSession::announce(const engine::RunRequest& request,
                             const profiling::RunList& measured) {
  quiet_seconds_ = 0.0;
  const auto run = long_run(
      request, [this](engine::GemmBackend backend) { return offer_of(hello_, backend); }, measured);
  if (!run) return;
  // An estimate: a step may take twice as long.
  quiet_seconds_ = 2.0 * run->step_seconds;
  std::string smaller;
  const auto change = [&smaller](const char* path, auto was, auto is) {
    if (was != is) smaller += fmt::format(" --{} {}", short_name(path), is);
  };
  change("launch.iterations", request.launch.iterations, run->shrunk.launch.iterations);
  change("shape.rows", request.shape.rows, run->shrunk.shape.rows);
  change("shape.num_experts", request.shape.num_experts, run->shrunk.shape.num_experts);
  const std::string way_out =
      run->shrinks() ? fmt::format("with{} it takes {}", smaller, about(run->shrunk_seconds))
                     : run->shrunk_words();
  report_wait(fmt::format("this run {}; {}. Ctrl+C ends it", run->words(), way_out));
}

engine::Result<LinkEvent> WorkerSession::perform(
    Task order, const std::function<bool(const LinkEvent&)>& wanted) {
  ENGINE_TRY(submit(std::move(order)));
  auto end = wait(wanted, [this](const LinkStatus& status) { progress_.show(status); });
  progress_.erase();
  if (end.ok()) name_files_as_here(end.value());
  return end;
}

engine::Status WorkerSession::submit(Task order) {
  if (machine_) ENGINE_TRY(machine_->send_files(order));
  link().submit(std::move(order));
  return {};
}

void WorkerSession::name_files_as_here(LinkEvent& event) const {
  if (!machine_) return;
  if (auto* run = std::get_if<RunDone>(&event)) machine_->name_as_here(run->result);
  if (auto* made = std::get_if<engine::RecipeComparison>(&event)) machine_->name_as_here(*made);
}

}  // namespace app::cli
