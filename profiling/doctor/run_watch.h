// Watches the replays of an ordinary run: puts the marker board into its graph if that is wanted,
// and says what can be told of a replay that does not end, as for an experiment.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/backend/replay_watch.h"
#include "engine/device/driver_api.h"
#include "profiling/doctor/marker_board.h"
#include "profiling/doctor/stall_probe.h"
#include "profiling/graph/live_board.h"
#include "profiling/graph/snapshot.h"

namespace profiling {

/// A run that stands still.
struct StalledRun {
  Snapshot snapshot;  // one graph and the ledger; who took it is left empty
  Stall stall;
};

class RunWatch final : public engine::ReplayWatch {
 public:
  struct Options {
    bool markers = false;
    /// How the device is, in words; asked when a replay is late.
    std::function<std::string()> device;
    /// Told of the late replay; need not return.
    std::function<void(StalledRun)> stalled;
  };
  /// `probe` and `board` must outlive it.
  RunWatch(const Probe& probe, LiveBoard& board, Options options)
      : probe_(probe), board_(board), options_(std::move(options)) {}
  ~RunWatch() override { board_.detach(); }

  engine::Result<int> captured(void* graph) override;
  void replay_begins(int replay) override;
  void stalled(const engine::LateReplay& late) override;

 private:
  const Probe& probe_;
  LiveBoard& board_;
  Options options_;
  GraphSnapshot graph_;
  std::optional<MarkerBoard> markers_;
};

}  // namespace profiling
