#include "app/worker/end_worker.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

namespace app {
namespace {

std::string sentence_about(const profiling::Stall& stall) {
  if (stall.replay == 0) {
    return fmt::format(
        "the launch of an eager step had not returned after {:.2f} s, and the worker has ended",
        stall.waited_seconds);
  }
  if (stall.kind == profiling::StallKind::HostBlocked) {
    return fmt::format(
        "the launch of replay {} had not returned after {:.2f} s, and the worker has ended",
        stall.replay, stall.waited_seconds);
  }
  return fmt::format("replay {} had not finished after {:.2f} s, and the worker has ended",
                     stall.replay, stall.waited_seconds);
}

}  // namespace

void end_worker(const engine::Error& error) {
  spdlog::critical("a thread of this worker failed, so it ends: {}", error.message);
  ::_exit(kExitThreadFailed);
}

void answer_and_end(FrameSender& sender, const StalledOrder& order, profiling::StalledRun run) {
  RunError late{.error = {engine::ErrorCode::Device, sentence_about(run.stall)}};
  DoctorDone seen{.snapshot = std::move(run.snapshot)};
  seen.outcome.verdict = profiling::Verdict::Hung;
  seen.outcome.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - order.began).count();
  seen.outcome.stall.push_back(std::move(run.stall));
  late.stalled = std::make_shared<const DoctorDone>(std::move(seen));
  static_cast<void>(sender.answer(order.id, std::move(late)).ok());
  ::_exit(0);
}

}  // namespace app
