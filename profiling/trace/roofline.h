// Where the products and the quantization of a run lie on the roofline of their device. Work is
// computed from the shape, time is measured. No CUDA.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/run_result.h"
#include "engine/program/explain.h"
#include "profiling/trace/activity.h"
#include "profiling/trace/statistics.h"

namespace profiling {

/// The work of one step in one stage, all layers: 2 m n k operations for the routed rows, never
/// padding; the bytes of every operand that must be read and of every output that must be written,
/// once each, excluding weights of experts without rows. Of scales, all bytes that the kernels
/// write (engine/quantize/operand_layout.h). Of quantization, only what the step quantizes: nothing
/// of X and W in a backward-only step, X and dY once for all layers on a device, no weights that
/// are kept. One multiplication for every code that is written; the bytes of each such operand read
/// once, or of what a fused activation computes it from, and of all its codes and scales. Not known
/// where the CPU reads an operand from a file: its element type is not recorded.
struct StageWork {
  double flop = 0.0;
  double bytes = 0.0;
  double intensity() const { return flop / bytes; }  // FLOP per byte
};

/// For stages with rated operations (engine::OperationTraits): quantize and products, and, without
/// any FLOP, permutations; empty for other stages and for a stage that the run lacks. Iterations
/// differ in whether they quantize their weights (ProductOptions::weight_reuse); the first one
/// does, and so does work outside the timed ones, which has iteration -1.
std::optional<StageWork> stage_work(const engine::RunResult& result, engine::Stage stage,
                                    int iteration = 0);

/// Why the work of such a stage is not known; empty if it is, or the run lacks the stage.
std::string unknown_work(const engine::RunResult& result, engine::Stage stage);

/// What the run's step does, operation by operation, with the work of its mean splits.
std::vector<engine::ExplainedOperation> explained_step(const engine::RunResult& result);

/// Bytes of one permutation of an expert layer that begins at tokens: every token and every row
/// that has one read or written once, and for every copy 4 bytes each of its expert, its row, its
/// probability and the gradient of that, as far as the launch reads or writes them. By projection:
/// Permute makes X from Xt for Up, and dY and dp from dYt and Y for Down; Unpermute makes Yt from Y
/// for Down, and dXt from dX for Up. 0 for other stages and without tokens.
double permutation_bytes(const engine::RunResult& result, engine::Stage stage,
                         engine::Projection projection);

/// For every timed iteration with records of the stage: the time in ns during which at least one of
/// them ran. Overlapping kernels on several streams count once.
std::vector<double> stage_busy_ns(const Activity& activity, engine::Stage stage);

/// A stage of a step, with the work that is counted for it, if any. If some iterations reuse their
/// weights, time and work of Stage::Quantize are those of these iterations only.
struct StageTime {
  engine::Stage stage = engine::Stage::Other;
  Distribution time;  // as stage_busy_ns(), of these iterations
  std::optional<StageWork> work;
};
/// Every stage with records in timed iterations, in the order of Stage.
std::vector<StageTime> stage_times(const engine::RunResult& result, const Activity& activity);

struct RooflinePoint {
  engine::Stage stage = engine::Stage::Fprop;
  StageWork work;
  std::size_t samples = 0;  // iterations
  double median_ns = 0.0;
  double flop_per_s() const { return work.flop / (median_ns * 1e-9); }
};
/// The stages of a run that have work and records.
std::vector<RooflinePoint> roofline_points(const engine::RunResult& result,
                                           const Activity& activity);

/// An operation of the step with work and records: all its kernels, in all layers.
struct OperationPoint {
  engine::Stage stage = engine::Stage::Fprop;
  /// As in its records; unknown in recordings from before it was recorded: then the whole stage.
  engine::WrittenValue writes = engine::WrittenValue::Unknown;
  StageWork work;
  std::size_t samples = 0;  // iterations
  double median_ns = 0.0;   // of the time per iteration in which one of its records ran
  double launches = 0.0;    // records per iteration
  bool emulated = false;    // a product that reads dequantized operands
  double flop_per_s() const { return work.flop / (median_ns * 1e-9); }
  double bytes_per_s() const { return work.bytes / (median_ns * 1e-9); }
};
/// In the order of the stages. One pass over the records.
std::vector<OperationPoint> operation_points(const engine::RunResult& result,
                                             const Activity& activity);

/// Peaks from a device's data sheet.
struct NominalPeaks {
  double flop_per_clock = 0.0;  // dense, of the whole device
  double clock_mhz = 0.0;       // for which the data sheet's rate holds
  double bytes_per_s = 0.0;
  std::string source;
  double flop_per_s() const { return flop_per_clock * clock_mhz * 1e6; }
};
/// For the narrowest operand type that the run's products read (FP8 or 16 bit). Empty for a device
/// that is not in the table: a guess would look like a fact.
std::optional<NominalPeaks> nominal_peaks(const engine::RunResult& result);

}  // namespace profiling
