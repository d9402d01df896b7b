#include "app/doctor/worker_runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "app/doctor/core_dump.h"
#include "app/protocol/liveness.h"
#include "app/protocol/waiting_link.h"

namespace app {
namespace {

using profiling::Experiment;
using profiling::Outcome;
using profiling::StallKind;
using profiling::Verdict;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{20};  // how often a cancel and the deadline are checked

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The worker has not answered in time: what is known of the stall without its help.
profiling::Stall stall_of(double limit, const LinkStatus& status) {
  const PulseReport& pulse = status.pulse;
  profiling::Stall stall;
  stall.replay = pulse.replay;
  stall.waited_seconds = status.seconds_still;
  stall.deadline_seconds = limit;
  stall.nodes = pulse.board;
  for (std::size_t node = 0; node < pulse.board.size(); ++node) {
    if (pulse.board[node] == profiling::NodeState::Done) {
      stall.last_finished = static_cast<int>(node);
    }
  }
  if (status.state == LinkState::Stalled) {
    stall.kind = StallKind::Unknown;
    stall.evidence = "the worker no longer pulses: " + status.reason;
  } else {
    // Its watchdog would have answered if the launching thread could still check it.
    stall.kind = StallKind::HostBlocked;
    stall.evidence = "the worker still pulses, but its launching thread has not returned";
  }
  if (!pulse.device.empty()) stall.evidence += "; " + pulse.device;
  return stall;
}

/// A failed order: an outcome, or an error if the order itself was invalid.
engine::Result<ExperimentRunner::Reply> failure(const engine::Error& error) {
  ExperimentRunner::Reply reply;
  reply.outcome.message = error.message;
  switch (error.code) {
    case engine::ErrorCode::Device:
      reply.outcome.verdict = Verdict::Crashed;
      return reply;
    case engine::ErrorCode::OutOfMemory:
    case engine::ErrorCode::Internal:
      reply.outcome.verdict = Verdict::NotRun;
      return reply;
    default:
      return error;
  }
}

constexpr double kCoreDumpSeconds = 25;  // the worker waits 20 s for a complete one

}  // namespace

engine::Result<ExperimentRunner::Reply> WorkerRunner::run(const DoctorSubject& subject,
                                                          const Experiment& experiment,
                                                          const Watch& watch,
                                                          const std::atomic<bool>& cancel) {
  const Clock::time_point started = Clock::now();
  WorkerCommand worker = options_.worker;
  if (experiment.eager_loading) worker.environment.emplace_back("CUDA_MODULE_LOADING=EAGER");
  double grace_seconds = options_.grace_seconds;
  const CoreDumpRequest core_dump(options_.core_dump_folder.empty()
                                      ? std::string()
                                      : fmt::format("{}/experiment-{}-{}",
                                                    options_.core_dump_folder, ::getpid(),
                                                    ++core_dumps_));
  const std::vector<std::string> settings = core_dump.environment();
  worker.environment.insert(worker.environment.end(), settings.begin(), settings.end());
  if (!settings.empty()) grace_seconds += kCoreDumpSeconds;
  // A tracer in the process changes what is examined: with CUPTI subscribed, even idle, the shared
  // workspace of cuBLASLt 13.5.1 replays correctly.
  worker.arguments.emplace_back("--no-tracing");
  ENGINE_ASSIGN(std::vector<std::string> argv, worker.argv());
  WaitingLink attempt({.argv = std::move(argv),
                       .wake = {},
                       .allowed_libraries = options_.allowed_libraries,
                       .remote = worker.remote.has_value()});
  WaitReporter patience(options_.setup_seconds);
  const auto with_time = [&](Reply reply) {
    reply.outcome.seconds = seconds_since(started);
    return reply;
  };

  std::optional<std::uint64_t> order;  // empty until the worker has greeted
  std::string last_words;
  while (true) {
    if (cancel) return engine::Error{engine::ErrorCode::Cancelled, "the experiment was cancelled"};
    attempt.wait_for(kTick);
    // Status first: events that arrived before the worker ended must be handled before its end.
    const LinkStatus status = attempt.link().status();
    for (LinkEvent& event : attempt.link().poll()) {
      if (std::holds_alternative<WorkerHello>(event) && !order) {
        order = attempt.link().submit(DoctorOrder{.request = subject.request,
                                                  .gallery_case = subject.gallery_case,
                                                  .healthy = subject.healthy,
                                                  .experiment = experiment});
      } else if (auto* done = std::get_if<DoctorDone>(&event); done && done->id == order) {
        for (profiling::Stall& stall : done->outcome.stall) core_dump.read(stall);
        return with_time(
            {.snapshot = std::move(done->snapshot), .outcome = std::move(done->outcome)});
      } else if (const auto* error = std::get_if<RunError>(&event); error && error->id == order) {
        ENGINE_ASSIGN(Reply reply, failure(error->error));
        return with_time(std::move(reply));
      } else if (auto* log = std::get_if<LogReport>(&event)) {
        last_words = std::move(log->text);
      }
    }
    if (status.state == LinkState::Lost) {
      const std::string reason =
          last_words.empty() ? status.reason
                             : fmt::format("{}; its last line: {}", status.reason, last_words);
      if (!order) return engine::Error{engine::ErrorCode::Device, "the worker is lost: " + reason};
      Reply reply;
      reply.outcome.verdict = Verdict::Crashed;
      reply.outcome.message = "the worker " + reason;
      return with_time(std::move(reply));
    }
    if (const auto word = status.pulse.replay > 0 ? std::nullopt : patience.word(status);
        word && options_.report_wait) {
      options_.report_wait(*word);
    }
    if (!order) {
      if (seconds_since(started) > options_.start_seconds) {
        return engine::Error{
            engine::ErrorCode::Device,
            fmt::format("the worker did not greet within {:.0f} s", options_.start_seconds)};
      }
      continue;
    }
    if (watch && status.pulse.replay > 0) watch(status.pulse.replay, status.pulse.board);
    const double replay_seconds =
        experiment.deadline_seconds > 0 ? experiment.deadline_seconds : options_.replay_seconds;
    const double limit = status.pulse.replay > 0 ? replay_seconds : options_.setup_seconds;
    if (status.seconds_still > limit + grace_seconds) {
      Reply reply;
      reply.outcome.verdict = Verdict::Hung;
      reply.outcome.stall = {stall_of(limit, status)};
      return with_time(std::move(reply));
    }
  }
}

}  // namespace app
