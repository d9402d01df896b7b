#include "app/cli/worker_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "app/protocol/paths.h"

namespace app::cli {

void WorkerChoice::add_to(CLI::App& command, bool with_library) {
  CLI::Option* local =
      command.add_option("--worker", program, "Worker program (default: beside this program)")
          ->option_text("PATH");
  command
      .add_option("--remote", remote,
                  "Run on this machine through ssh; it needs the worker on PATH")
      ->option_text("HOST")
      ->excludes(local);
  if (with_library) {
    command.add_option("--cublaslt", cublaslt, "cuBLASLt library the worker loads")
        ->option_text("PATH");
    command
        .add_option("--allow-library", allowed_libraries,
                    "A cuBLASLt library that a file (request, log, tour, recording) may name; any "
                    "other than the worker's own is refused. Can be given several times")
        ->option_text("PATH")
        ->allow_extra_args(false);
  }
  command.add_option("--worker-backend", backend, "Backends the worker offers: auto, cpu or cuda")
      ->option_text("NAME")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
}

engine::Result<std::vector<std::string>> WorkerChoice::argv() const {
  std::vector<std::string> arguments;
  if (remote.empty()) {
    arguments = wrapper;
    arguments.push_back(program.empty() ? worker_program() : program);
  } else if (remote.starts_with('-')) {
    // ssh would take it for an option, and some of its options run commands.
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("'{}' is no name of a machine", remote)};
  } else {
    // BatchMode: a question for a password would wait on a terminal that the worker's group cannot
    // read.
    arguments = {"ssh", "-T", "-o", "BatchMode=yes", remote, "expertscope-worker"};
  }
  if (!remote.empty() && cublaslt.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                                                    "UVWXYZ0123456789_./+-") != std::string::npos) {
    // The far side's login shell reads ssh's arguments again.
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("'{}' has characters that ssh cannot pass on", cublaslt)};
  }
  if (!cublaslt.empty()) arguments.insert(arguments.end(), {"--cublaslt", cublaslt});
  if (!backend.empty()) arguments.insert(arguments.end(), {"--backend", backend});
  return arguments;
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
  const bool settled = std::ranges::all_of(libraries_of_files, [this](const NamedLibrary& one) {
    return std::ranges::find(allowed_libraries, one.library) != allowed_libraries.end();
  });
  if (settled) return {};
  const auto session = WorkerSession::start(*this);
  return session.ok() ? engine::Status() : session.error();
}

engine::Result<std::unique_ptr<WorkerSession>> WorkerSession::start(const WorkerChoice& choice) {
  engine::Result<std::vector<std::string>> argv = choice.argv();
  if (!argv.ok()) return argv.error();
  std::unique_ptr<WorkerSession> session(new WorkerSession());
  session->link_ = WorkerLink::start({.argv = std::move(argv).value(),
                                      .wake =
                                          [raw = session.get()] {
                                            const std::lock_guard lock(raw->mutex_);
                                            raw->woken_ = true;
                                            raw->changed_.notify_all();
                                          },
                                      .allowed_libraries = choice.allowed_libraries});
  engine::Result<LinkEvent> greeting = session->wait(
      [](const LinkEvent& event) { return std::holds_alternative<WorkerHello>(event); }, {});
  if (!greeting.ok()) return greeting.error();
  session->hello_ = std::get<WorkerHello>(std::move(greeting).value());
  for (const WorkerChoice::NamedLibrary& one : choice.libraries_of_files) {
    const std::vector<std::string>& allowed = choice.allowed_libraries;
    if (std::ranges::find(allowed, one.library) != allowed.end() ||
        has_library(session->hello_, one.library)) {
      continue;
    }
    return engine::Error{
        engine::ErrorCode::InvalidArgument,
        fmt::format("{} names the cuBLASLt library {}; loading it would run its code, so it is "
                    "refused. If you know this library: --allow-library {}",
                    one.file, one.library, one.library)};
  }
  return session;
}

engine::Result<LinkEvent> WorkerSession::wait(const std::function<bool(const LinkEvent&)>& wanted,
                                              const std::function<void(const LinkStatus&)>& watch) {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(200), [this] { return woken_; });
      woken_ = false;
    }
    // Status first: the events that arrived before an end must be looked at before the end is.
    const LinkStatus status = link_->status();
    for (LinkEvent& event : link_->poll()) {
      if (wanted(event)) return std::move(event);
      if (const auto* failure = std::get_if<RunError>(&event)) return failure->error;
      if (const auto* log = std::get_if<LogReport>(&event)) {
        fmt::print(stderr, "worker: {}\n", log->text);
      }
    }
    if (status.state == LinkState::Lost) {
      return engine::Error{engine::ErrorCode::Device, "the worker is lost: " + status.reason};
    }
    if (watch) watch(status);
  }
}

}  // namespace app::cli
