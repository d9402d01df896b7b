// The subjects interleaved in the benchmark of the linear step: each of our recipes, and each
// product of a peer. Rounds and rows are in linear_bench.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/bench/measured_span.h"
#include "engine/model/linear_bench.h"
#include "engine/observe/step_observer.h"

namespace engine {

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
  /// One time of each of its parts, the same parts in the same order every time. Cancelled where a
  /// turn is so long that it polls.
  virtual Result<std::vector<PartTime>> turn() = 0;
  /// Once, after the rounds. Empty = nothing was recorded.
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
  /// An error in a subject's turn ends the benchmark; otherwise it ends that subject.
  virtual bool essential() const { return true; }
};

}  // namespace engine
