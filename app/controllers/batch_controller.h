// Sweeps and interleaved measurements of the window: one at a time, through the same worker as the
// runs of the rail. A run that the user orders goes first; the batch then continues.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/controllers/commands.h"
#include "app/controllers/link_supervisor.h"

namespace app {

/// Maximum number of live runs in the window: a larger sweep would lose its first points.
inline constexpr std::size_t kMaxWindowSweep = 60;
/// What a sweep of the window will run.
inline engine::Result<std::vector<PlannedRun>> plan_in_window(const SweepOrder& order,
                                                              const WorkerHello& hello) {
  return plan_sweep(order.base, order.axes, hello, kMaxWindowSweep);
}

class BatchController {
 public:
  /// Replaces the batch in progress. An order that cannot run leaves its reason in status().error.
  void start(const SweepOrder& order, const std::optional<WorkerHello>& hello);
  void start(const InterleavedOrder& order, const std::optional<WorkerHello>& hello);
  bool running() const;
  void cancel();

  /// Gives the worker the next run whenever it has nothing to do.
  void step(LinkSupervisor& link);
  /// The tag of a result, if it is the batch's.
  std::optional<profiling::RunGroup> take_result(std::uint64_t id);
  /// False if the error belongs to another order.
  bool take_error(std::uint64_t id, const engine::Error& error, const LinkSupervisor& link);
  /// A batch that has just ended, once.
  bool take_end();
  BatchStatus status(const LinkStatus& link) const;

 private:
  void begin(profiling::GroupKind kind, std::vector<PlannedRun> plan);
  void refuse(profiling::GroupKind kind, const std::string& why);
  void publish();

  std::optional<Batch> batch_;
  profiling::GroupKind kind_ = profiling::GroupKind::None;  // of the newest order
  std::string refusal_;                                     // of an order that was not started
  std::shared_ptr<const std::vector<BatchRow>> rows_;
  std::uint64_t order_id_ = 0;  // of the run in progress; 0 = none
  bool ended_ = false;
};

}  // namespace app
