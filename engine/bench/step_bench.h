// The benchmarks of whole steps, linear ones or expert layers: on every shape and routing all
// subjects are interleaved, and a different one begins each round, so that clock changes and other
// load affect all equally.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/bench/rounds.h"
#include "engine/model/bench_order.h"
#include "engine/model/run_result.h"
#include "engine/observe/step_observer.h"

namespace engine {

// The subjects that are interleaved: each of our recipes, and what a peer offers.

struct PartTime {
  BenchPart part = BenchPart::Fprop;
  double us = 0;
  MeasuredSpan span = {};
  double kernels_us = 0;  // 0 = trace() may know
  double replay_us = 0;
};

/// Kernel times of a recorded step; as in StepBenchRow.
struct PartTrace {
  BenchPart part = BenchPart::Step;
  double kernels_us = 0;
  double replay_us = 0;
};

class StepSubject {
 public:
  virtual ~StepSubject() = default;
  virtual std::string name() const = 0;
  /// Times each of its parts once, always in the same order. Cancelled if the round is long enough
  /// to be polled.
  virtual Result<std::vector<PartTime>> turn() = 0;
  /// Called once after the rounds. Empty = nothing was recorded.
  virtual Result<std::vector<PartTrace>> trace() { return std::vector<PartTrace>{}; }
};

/// A subject, or the reason why this shape has none.
struct OfferedSubject {
  std::string name;
  std::unique_ptr<StepSubject> subject;
  std::string missing = {};
};

struct StepCase {
  StepBenchCase of;
  std::vector<std::int64_t> splits;

  GroupedShape grouped() const {
    return {.splits = splits, .n = of.shape.shape.n, .k = of.shape.shape.k};
  }
};

/// Makes subjects; it outlives them.
class StepTarget {
 public:
  virtual ~StepTarget() = default;
  /// An error ends the benchmark.
  virtual Result<std::vector<OfferedSubject>> offer(const StepCase& measured,
                                                    RunProgress& progress) = 0;
  /// An error in a subject's round ends the benchmark; otherwise it ends that subject only.
  virtual bool essential() const { return true; }
};

// What a kernel recorder reports to a benchmark of steps; implemented above the engine, in
// profiling/.

struct TracedReplay {
  int iteration = 0;
  double kernels_us = 0;  // sum of the times of its kernels, copies and memsets
  double replay_us = 0;   // from the start of the first to the end of the last
};

class ReplayTracer {
 public:
  virtual ~ReplayTracer() = default;
  /// Notified of a run, like the observer of a backend.
  virtual StepObserver& observer() = 0;
  /// Replays of the run that ended last, by iteration; empty if nothing was recorded.
  virtual std::vector<TracedReplay> take() = 0;
};

// The CPU reference step as subjects. Products are timed where they run, in a linear step: the sums
// of their spans.

/// "steady clock around ...".
inline constexpr const char* kCpuStepTimes =
    "steady clock around each step; products are the sums of their spans in it";

std::unique_ptr<StepTarget> make_cpu_step_target();

// The step on the current CUDA device as subjects. CUDA flavour only.

inline constexpr const char* kCudaStepTimes =
    "CUDA events around one launch of a product or of a step's graph, after one that is not timed; "
    "kept weights: the same graph, in which a flag on the device skips their quantization";

struct CudaStepTarget {
  std::unique_ptr<StepTarget> target;
  DeviceFacts device;
};

/// Makes device 0 current. `cublaslt_path` as CublasLt::load() takes it; `tracer` may be null and
/// outlives the target.
Result<CudaStepTarget> make_cuda_step_target(const std::string& cublaslt_path,
                                             ReplayTracer* tracer);

struct MeasuredStepRow {
  StepBenchRow row;
  std::vector<MeasuredSpan> spans = {};  // one per round; none for a skipped row
};

/// All rows of a shape and routing, once they are measured. An error ends the benchmark.
using ReportStepRows = std::function<Status(const std::vector<MeasuredStepRow>&)>;

/// The order has passed validate() for that step; `seconds` is for each shape and routing, five
/// rounds at least. Cancelled when progress.cancel was seen: rows already reported stay valid.
Status run_step_bench(const std::vector<StepTarget*>& targets, StepKind step,
                      const StepBenchOrder& order, double seconds, RunProgress& progress,
                      const ReportStepRows& report);

}  // namespace engine
