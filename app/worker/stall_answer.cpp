#include "app/worker/stall_answer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "app/protocol/convert.h"

namespace app {

void answer_and_end(FrameSender& sender, const StalledOrder& order, profiling::StalledRun run) {
  const bool blocked = run.stall.kind == profiling::StallKind::HostBlocked;
  RunError late;
  late.id = order.id;
  late.error.code = engine::ErrorCode::Device;
  late.error.message =
      run.stall.replay == 0
          ? fmt::format(
                "the launch of an eager step had not returned after {:.2f} s, and the "
                "worker has ended",
                run.stall.waited_seconds)
      : blocked ? fmt::format(
                      "the launch of replay {} had not returned after {:.2f} s, and the worker "
                      "has ended",
                      run.stall.replay, run.stall.waited_seconds)
                : fmt::format("replay {} had not finished after {:.2f} s, and the worker has ended",
                              run.stall.replay, run.stall.waited_seconds);
  DoctorDone seen{.id = order.id, .snapshot = std::move(run.snapshot)};
  seen.outcome.verdict = profiling::Verdict::Hung;
  seen.outcome.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - order.began).count();
  seen.outcome.stall.push_back(std::move(run.stall));
  late.stalled = std::make_shared<const DoctorDone>(std::move(seen));
  wire::Frame frame;
  *frame.mutable_failed() = to_wire(late);
  static_cast<void>(sender.send(frame).ok());
  ::_exit(0);
}

}  // namespace app
