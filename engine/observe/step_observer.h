// How a step is observed: its work, its progress, and its cancellation.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "engine/model/run_request.h"
#include "engine/model/stage.h"
#include "engine/model/written_value.h"
#include "engine/observe/graph_capture.h"

namespace engine {

/// The place in the step that a piece of work belongs to.
struct WorkTag {
  Stage stage = Stage::Other;
  int layer = 0;    // of an expert layer its projection: 2 * layer is up, 2 * layer + 1 down
  int expert = -1;  // -1 = all experts in one launch
  /// With the stage, the operation of the step's program: operation_name().
  WrittenValue writes = WrittenValue::Unknown;
};

/// Notified of the step as it runs; implemented in profiling/ (host spans for the CPU, CUPTI for
/// CUDA). All calls come from the engine thread, except span(), which the CPU backend may call from
/// any of its threads.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void begin_run() {}
  /// Brackets launches (eager or under capture) so that what they start can be attributed to the
  /// tag.
  virtual void begin_work(const WorkTag&) {}
  virtual void end_work() {}
  /// Valid during the call. Once for each graph of the step, in the order of their launches. CUDA
  /// only.
  virtual void graph_captured(const GraphCapture& /*capture*/) {}
  /// What to record from now on. All launched work must have finished. A graph whose nodes are to
  /// be recorded must be instantiated after this.
  virtual void set_trace(TraceLevel) {}
  /// Brackets one timed iteration: an eager step, or one launch of each of its graphs.
  virtual void begin_iteration(int /*iteration*/) {}
  virtual void end_iteration() {}
  /// A finished piece of host work; times are std::chrono::steady_clock nanoseconds.
  virtual void span(const WorkTag&, const char* /*name*/, int /*lane*/, std::int64_t /*start_ns*/,
                    std::int64_t /*end_ns*/) {}
  /// After the last iteration and a device synchronise: everything the run caused has happened.
  virtual void end_run() {}
  /// How records were made, for RunResult::activity_method, or why there are none.
  virtual std::string method() const { return {}; }
  virtual std::uint64_t dropped() const { return 0; }
};

/// Ends the observed run also when the run fails half-way.
class ObservedRun {
 public:
  explicit ObservedRun(StepObserver& observer) : observer_(observer) { observer_.begin_run(); }
  ~ObservedRun() { end(); }
  ObservedRun(const ObservedRun&) = delete;
  ObservedRun& operator=(const ObservedRun&) = delete;
  void end() {
    if (open_) observer_.end_run();
    open_ = false;
  }

 private:
  StepObserver& observer_;
  bool open_ = true;
};

/// What the pulse thread shows while the engine thread works, and how the reader thread stops it.
/// Plain atomics: written by the engine thread, read by others without a lock.
struct RunProgress {
  std::atomic<std::uint64_t> request_id{0};  // 0 = idle
  std::atomic<int> stage{0};                 // engine::Stage
  std::atomic<int> iteration{-1};
  std::atomic<int> iterations{0};
  std::atomic<int> expert{-1};
  std::atomic<double> fraction{0.0};  // of the whole run, 0..1
  /// std::chrono::steady_clock when the first timed iteration began; 0 = none has yet.
  std::atomic<std::int64_t> timed_since_ns{0};
  std::atomic<bool> cancel{false};  // polled between stages and iterations
};

class ReplayWatch;  // replay_watch.h

struct RunContext {
  RunProgress& progress;
  StepObserver& observer;
  ReplayWatch* replays = nullptr;  // null = unwatched, so they have no deadline
};

}  // namespace engine
