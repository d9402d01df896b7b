// The benchmark of the grouped linear step: on every shape and routing all subjects are
// interleaved, and a different one begins each round, so that clock changes and other load affect
// all equally.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/bench/measured_span.h"
#include "engine/model/bench_order.h"
#include "engine/model/run_result.h"
#include "engine/observe/step_observer.h"

namespace engine {

// The subjects interleaved in the benchmark of the linear step: each of our recipes, and each
// product of a peer.

struct PartTime {
  LinearPart part = LinearPart::Fprop;
  double us = 0;
  MeasuredSpan span = {};
  double kernels_us = 0;  // 0 = trace() may know
  double replay_us = 0;
};

/// Kernel times of a recorded step; as in LinearBenchRow.
struct PartTrace {
  LinearPart part = LinearPart::Step;
  double kernels_us = 0;
  double replay_us = 0;
};

class LinearSubject {
 public:
  virtual ~LinearSubject() = default;
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
  std::unique_ptr<LinearSubject> subject;
  std::string missing = {};
};

struct LinearCase {
  ShapeSpec shape;
  RoutingDistribution routing = RoutingDistribution::Uniform;
  std::vector<std::int64_t> splits;
};

/// Makes subjects; it outlives them.
class LinearTarget {
 public:
  virtual ~LinearTarget() = default;
  /// An error ends the benchmark.
  virtual Result<std::vector<OfferedSubject>> offer(const LinearCase& shape,
                                                    RunProgress& progress) = 0;
  /// An error in a subject's round ends the benchmark; otherwise it ends that subject only.
  virtual bool essential() const { return true; }
};

// What a kernel recorder reports to the benchmark of the linear step; implemented above the engine,
// in profiling/.

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
  /// Of the run that ended last, by iteration; empty if nothing was recorded.
  virtual std::vector<TracedReplay> take() = 0;
};

// The CPU reference step as subjects of the linear benchmark. Products are timed where they run, in
// a step: the sums of their spans.

/// "steady clock around ...".
inline constexpr const char* kCpuLinearTimes =
    "steady clock around each step; products are the sums of their spans in it";

std::unique_ptr<LinearTarget> make_cpu_linear_target();

// The grouped step on the current CUDA device as subjects of the linear benchmark. CUDA flavour
// only.

inline constexpr const char* kCudaLinearTimes =
    "CUDA events around one launch of a product or of a step's graph, after one that is not timed; "
    "the set-up is one of 32 in a graph, with the gap after it";

struct CudaLinearTarget {
  std::unique_ptr<LinearTarget> target;
  DeviceFacts device;
};

/// Makes device 0 current. `cublaslt_path` as CublasLt::load() takes it; `tracer` may be null and
/// outlives the target.
Result<CudaLinearTarget> make_cuda_linear_target(const std::string& cublaslt_path,
                                                 ReplayTracer* tracer);

struct MeasuredLinearRow {
  LinearBenchRow row;
  std::vector<MeasuredSpan> spans = {};  // one per round; none for a skipped row
};

/// All rows of a shape and routing, once they are measured. An error ends the benchmark.
using ReportLinearRows = std::function<Status(const std::vector<MeasuredLinearRow>&)>;

/// The order has passed validate(); `seconds` is for each shape and routing, five rounds at least.
/// Cancelled when progress.cancel was seen: rows already reported stay valid.
Status run_linear_bench(const std::vector<LinearTarget*>& targets, const LinearBenchOrder& order,
                        double seconds, RunProgress& progress, const ReportLinearRows& report);

}  // namespace engine
