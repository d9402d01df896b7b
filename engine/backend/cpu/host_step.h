// A step as the CPU backend runs it, whatever it computes, and how far it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_result.h"
#include "engine/observe/step_observer.h"
#include "engine/quantize/output_errors.h"

namespace engine {

/// The progress shown by the pulse. One per run, whose parts all advance it.
class StepProgress {
 public:
  explicit StepProgress(RunProgress& shown) : shown_(shown) {}

  /// All units of the run.
  void expect(double units) { total_units_ = units; }
  /// The share of the run that is done, in place of the units; null = by the units again.
  void measure_by(std::function<double()> share) { share_ = std::move(share); }
  /// False when cancelled.
  bool advance(int expert, double units);
  bool is_cancelled() const { return shown_.cancel.load(std::memory_order_relaxed); }

 private:
  RunProgress& shown_;
  double done_units_ = 0.0;
  double total_units_ = 1.0;
  std::function<double()> share_;
};

inline constexpr double kStatisticsUnits = 3.0;  // an expert's statistics in units of its step

/// Where a run's quantized weights come from.
enum class WeightCast {
  Make,
  Keep,  // of the run before; ProductOptions::weight_reuse is above 1
};

class HostStep {
 public:
  virtual ~HostStep() = default;
  /// Sets the splits of the next iterations: rows of every expert, in total at most those of X.
  /// `step` is the step of a recorded routing, in the order of replay, whose choices a step that
  /// begins at tokens uses; 0 without a recorded routing. A backward-only step needs prepare()
  /// after it.
  virtual void set_splits(const std::vector<std::int64_t>& splits, std::size_t step) = 0;
  /// What a backward-only step reads of the preceding forward step; otherwise nothing.
  virtual Status prepare() = 0;
  /// All passes, layers and experts once. Cancelled on request.
  virtual Status run(WeightCast weights) = 0;
  /// Layer 0, expert by expert through the same code as run(), with experts * kStatisticsUnits of
  /// progress: RunResult's statistics of operands and errors of products.
  virtual Status measure_statistics(RunResult& result) = 0;
  /// The errors of the outputs alone, in the same way and with the same progress.
  virtual Result<OutputErrors> measure_errors() = 0;
  /// Progress units of one iteration.
  virtual double units() const = 0;
  /// Nanoseconds spent reading operands so far: not part of the step.
  virtual std::int64_t reading_ns() const = 0;
};

Error cancelled();

}  // namespace engine
