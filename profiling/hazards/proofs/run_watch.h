// Watches the launches of an ordinary run: adds the marker board to its graph if requested, and
// reports what is known about a replay that does not end, as for an experiment.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/device/driver_api.h"
#include "engine/observe/replay_watch.h"
#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/launch_clock.h"
#include "profiling/hazards/model/live_board.h"
#include "profiling/hazards/model/snapshot.h"
#include "profiling/hazards/proofs/marker_board.h"
#include "profiling/hazards/proofs/stall_probe.h"

namespace profiling {

class RunWatch final : public engine::ReplayWatch {
 public:
  struct Options {
    bool markers = false;
    /// Records launches while they last; must outlive the watch. Null = not recorded.
    LaunchClock* launches = nullptr;
    /// The state of the device, in words; queried when a replay is late.
    std::function<std::string()> device;
    /// Called with the late replay; need not return.
    std::function<void(StalledRun)> stalled;
  };
  /// `probe` and `board` must outlive it.
  RunWatch(const Probe& probe, LiveBoard& board, Options options)
      : probe_(probe), board_(board), options_(std::move(options)) {}
  ~RunWatch() override { board_.detach(); }

  engine::Result<int> captured(const engine::GraphCapture& capture) override;
  void replay_begins(int replay) override;
  void launch_begins(const engine::Launching& launch) override;
  void launch_ends() override;
  void stalled(const engine::LateReplay& late) override;

  /// On another thread, while the engine thread is inside the launch: makes no CUDA call.
  StalledRun blocked(const BlockedLaunch& launch) const;

 private:
  StalledRun stalled_run(Stall stall) const;

  const Probe& probe_;
  LiveBoard& board_;
  Options options_;
  std::vector<GraphSnapshot> graphs_;
  std::vector<GraphPool> pools_;
  std::optional<MarkerBoard> markers_;
};

}  // namespace profiling
