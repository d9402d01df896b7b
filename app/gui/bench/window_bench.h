// Times the window as a user would drive it: opens a recording, zooms, pans, hovers, changes pages,
// waits; records every frame's cost.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "app/protocol/worker_command.h"
#include "engine/model/error.h"

namespace app {

struct WindowBenchOptions {
  /// Sizes of synthetic recordings, one window each; or the user's own recording.
  std::vector<std::size_t> records = {1'000'000, 10'000'000};
  std::string recording;
  WorkerCommand worker;  // for the control probe
  int width = 1440;
  int height = 900;
};

/// Milliseconds over `n` frames or tries, or the unit that `unit` names; a single number if n is 1.
struct WindowBenchRow {
  std::string what;  // "zoom", "idle, visible", "open to first picture", ...
  std::size_t records = 0;
  std::size_t n = 0;
  double p50 = 0;
  double p95 = 0;
  double maximum = 0;
  double present_p50 = 0;  // GL and swap, not included in the above; 0 = does not apply
  double budget = 0;       // 0 = none
  std::string unit = "ms CPU";
};

/// The machine that the numbers were measured on.
struct WindowBenchMachine {
  std::string processor;  // as /proc/cpuinfo names it
  int threads = 0;
  std::string gl_renderer;
  std::string gl_version;
  int width = 0;
  int height = 0;
  /// Mean number of running threads over the minute before: the whole machine's load.
  double load = 0;
};

struct WindowBenchReport {
  std::function<void(const WindowBenchMachine&)> machine;
  std::function<void(const WindowBenchRow&)> row;  // called as soon as a row is known
};

/// Needs a display (Xvfb will do). Synthetic recordings are written to the folder for temporary
/// files and removed afterwards.
engine::Status run_window_bench(const WindowBenchOptions& options, const WindowBenchReport& report);

}  // namespace app
