// The one interface above which the CPU and the CUDA flavour are the same sources.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/recipe_comparison.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"
#include "engine/model/stage.h"

namespace engine {

/// Where a piece of work belongs. Iterations count from 0; -1 = outside the timed iterations
/// (set-up, checks).
struct WorkTag {
  Stage stage = Stage::Other;
  int layer = 0;
  int expert = -1;  // -1 = all experts in one launch
};

/// Told about the step as it runs; implemented in profiling/ (host spans for the CPU, CUPTI for
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
  /// A graph that will be instantiated next: a cudaGraph_t, valid during the call. CUDA only.
  virtual void graph_captured(const void* /*graph*/) {}
  /// What to record from now on. Nothing that was launched may be unfinished. A graph whose nodes
  /// are to be seen must be instantiated after this.
  virtual void set_trace(TraceLevel) {}
  /// Brackets one timed iteration: an eager step, or one graph launch.
  virtual void begin_iteration(int /*iteration*/) {}
  virtual void end_iteration() {}
  /// A finished piece of host work; times are std::chrono::steady_clock nanoseconds.
  virtual void span(const WorkTag&, const char* /*name*/, int /*lane*/, std::int64_t /*start_ns*/,
                    std::int64_t /*end_ns*/) {}
  /// After the last iteration and a device synchronise: everything the run caused has happened.
  virtual void end_run() {}
  /// How records were made, for RunResult::activity_method; why there are none if there are none.
  virtual std::string method() const { return {}; }
  virtual std::uint64_t dropped() const { return 0; }
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
  ReplayWatch* replays = nullptr;  // null = nobody watches them, so they have no deadline
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual GemmBackend kind() const = 0;
  virtual DeviceFacts device() const = 0;
  /// Runs the request to its end on the calling thread. The request has passed validate().
  /// Cancelled when progress.cancel was seen; no partial result is returned.
  virtual Result<RunResult> run(const RunRequest& request, RunContext context) = 0;
  /// Every recipe on one operand, numerics and times. The request has passed validate(). A recipe
  /// that cannot run here is a report with its reason; Cancelled as run() does.
  virtual Result<RecipeComparison> compare(const ComparisonRequest& request,
                                           RunContext context) = 0;
};

/// A backend, or the reason why this machine has none ("no CUDA driver: ...").
struct BackendSlot {
  GemmBackend kind = GemmBackend::CpuReference;
  std::unique_ptr<Backend> backend;  // null = unavailable
  std::string reason;                // why it is unavailable
};

std::unique_ptr<Backend> make_cpu_backend();
/// Loads cuBLASLt from `cublaslt_path` (empty = search order of engine/gemm/cublaslt_library.h).
/// Never throws and never needs a driver to be installed: without one the slot says so. Built only
/// in the CUDA flavour.
BackendSlot make_cuda_backend(const std::string& cublaslt_path);

}  // namespace engine
