// Times the window as a person would use it: opens a recording, zooms, pans, hovers, changes
// pages, waits; every frame's cost is kept.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "app/protocol/worker_command.h"
#include "engine/model/error.h"

namespace app {

struct WindowBenchOptions {
  /// Sizes of made-up recordings, one window each; or a recording of one's own.
  std::vector<std::size_t> records = {1'000'000, 10'000'000};
  std::string recording;
  WorkerCommand worker;  // for the change of a control
  int width = 1440;
  int height = 900;
};

/// Milliseconds over `n` frames, tries or what `what` says; one number where n is 1.
struct WindowBenchRow {
  std::string what;  // "zoom", "idle, visible", "open to first picture", ...
  std::size_t records = 0;
  std::size_t n = 0;
  double p50 = 0;
  double p95 = 0;
  double maximum = 0;
  double present_p50 = 0;  // GL and swap, apart from the above; 0 = does not apply
  double budget = 0;       // 0 = none
  std::string unit = "ms CPU";
};

/// What the numbers were taken on.
struct WindowBenchMachine {
  std::string processor;  // as /proc/cpuinfo names it
  int threads = 0;
  std::string gl_renderer;
  std::string gl_version;
  int width = 0;
  int height = 0;
  double load =
      0;  // mean number of running threads over the minute before: the machine's, not ours
};

struct WindowBenchReport {
  std::function<void(const WindowBenchMachine&)> machine;
  std::function<void(const WindowBenchRow&)> row;  // as soon as it is known
};

/// Needs a display (Xvfb will do). Made-up recordings are written to the folder for temporary files
/// and removed again.
engine::Status run_window_bench(const WindowBenchOptions& options, const WindowBenchReport& report);

}  // namespace app
