// What one run says back: effective settings with the reason of every deviation, numerics and
// times. Plain values, no CUDA. Every number states its method where more than one could have made
// it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "engine/model/run_request.h"

namespace engine {

/// One setting that could not be had as asked.
struct Deviation {
  std::string field;      // "backend", "launch", "splits", ...
  std::string requested;  // as text
  std::string effective;
  std::string reason;  // a sentence: what stands in the way and what would help
};

/// Counts of magnitudes. Bin b of `counts` holds |x| whose FP32 bit pattern (sign cleared) shifted
/// right by 21 is first_bin + b: four bins a power of two, split evenly in the mantissa. Zeros and
/// non-finite values are apart.
struct MagnitudeHistogram {
  int first_bin = 0;
  std::vector<std::uint64_t> counts;
  std::uint64_t zeros = 0;
  std::uint64_t infinities = 0;
  std::uint64_t nans = 0;
};

/// All scales of an operand in a few figures, taken before any folding. All 0: not measured.
struct ScaleSummary {
  std::uint64_t scales = 0;       // finite and above 0
  std::uint64_t distinct = 0;     // different values among them
  double mean = 0.0;              // of log2 of scale_inv
  double deviation = 0.0;         // of the same: standard deviation of the population
  std::uint64_t saturated = 0;    // scales with at least one saturated element
  std::uint64_t underflowed = 0;  // scales with at least one element that became zero
};

/// Block scales folded to at most 512 x 512 cells for a texture. Cell values are log2 of scale_inv;
/// NaN where no scale of the cell is finite and above 0.
struct ScaleMap {
  /// Data rows one scale covers (1, 16, 32 or 128); the largest expert's rows for per-tensor.
  std::int64_t block_rows = 0;
  std::int64_t block_columns = 0;  // data columns one scale covers (16 to 128); k for per-tensor
  std::int64_t source_rows = 0;    // scales along the rows before folding
  std::int64_t source_columns = 0;
  int rows = 0;
  int columns = 0;
  std::vector<float> mean;     // [rows, columns]
  std::vector<float> maximum;  // [rows, columns]
  std::vector<std::int64_t>
      expert_first_row;  // [num_experts + 1], in cells' rows scaled to source_rows
  /// The rest is empty where it was not measured: recordings before schema 5.
  std::vector<float> minimum = {};            // [rows, columns]
  std::vector<float> deviation = {};          // [rows, columns], standard deviation in a cell
  std::vector<float> saturated_share = {};    // [rows, columns], of the elements of a cell: 0 to 1
  std::vector<float> underflowed_share = {};  // [rows, columns]
  ScaleSummary summary = {};
};

/// Quantization of one operand of layer 0, all experts together.
struct OperandStatistics {
  MagnitudeHistogram before;  // |x|
  MagnitudeHistogram after;   // |dequantized x|
  MagnitudeHistogram amax;    // one count a scale; empty for BF16
  MagnitudeHistogram
      scale;  // the quantization scale (not its inverse), one count a scale; empty for BF16
  ScaleMap scale_map;  // empty for BF16
  std::uint64_t elements = 0;
  std::uint64_t saturated = 0;    // |x * scale| above the format's largest finite value
  std::uint64_t underflowed = 0;  // x != 0 became 0
  double snr_db =
      0.0;  // 10 log10(sum x^2 / sum (x - dequantized)^2) over finite elements; +inf if exact
};

/// Error of one product of one expert against the product of the unquantized operands. A pass that
/// did not run has no rows of these.
struct ProductAccuracyRow {
  double snr_db = 0.0;  // +inf if equal, NaN if there is no finite reference
  double max_abs_error = 0.0;
  double reference_rms = 0.0;
};

/// Numerics and counts of one expert, product of layer 0 against the product of the unquantized
/// operands.
struct ExpertResult {
  std::int64_t rows = 0;
  double snr_db = 0.0;          // of Y; +inf if equal, NaN if the expert has no finite reference
  double max_abs_error = 0.0;   // of Y
  double reference_rms = 0.0;   // of the unquantized product
  std::uint64_t saturated = 0;  // of X
  std::uint64_t underflowed = 0;
  double x_snr_db = 0.0;
  /// Largest error of X in units in the last place of its codes: 0.5 is correct rounding. NaN where
  /// nothing was quantized, and in recordings before schema 6.
  double x_max_ulp = std::numeric_limits<double>::quiet_NaN();
  /// Of dX and dW, layer 0; only where RunResult::backward says so.
  ProductAccuracyRow dgrad = {};
  ProductAccuracyRow wgrad = {};
};

/// Duration of one iteration: CUDA events around the launch on a GPU, the steady clock on the CPU.
struct Iteration {
  std::int64_t start_ns = 0;  // since the run's first iteration
  std::int64_t duration_ns = 0;
};

enum class Product : std::uint8_t { Fprop, Dgrad, Wgrad };

/// Replays against an eager run, bit for bit. A run without a graph has none.
struct ReplayCheck {
  int replay = 0;  // 1-based
  int layer = 0;
  Product product = Product::Fprop;
  std::vector<int> wrong_experts;  // output bits differ from the eager run; empty = equal
};

/// What a captured step consists of, and what one launch of it costs the host.
struct GraphFacts {
  int kernels = 0;
  int memsets = 0;
  int copies = 0;
  int allocations = 0;  // memory nodes: allocate or free
  int host_calls = 0;
  std::int64_t host_launch_ns = 0;  // median of cudaGraphLaunch()
};

/// How the replays of a graph were watched. All 0: nothing was replayed, or nobody watched.
struct ReplayWatchFacts {
  int replays = 0;                // checked ones, timed ones and those under other trace levels
  double p99_us = 0.0;            // of their durations
  double deadline_seconds = 0.0;  // of the next one, had there been one; 0 = it had none
  int markers = 0;                // nodes with a marker behind them; 0 = no markers
};

/// What trying the candidates of a product has shown, layer 0.
struct AlgorithmChoice {
  Product product = Product::Fprop;
  int candidates = 0;     // that were timed; 0 = the heuristic's first was taken as it is
  int chosen = 0;         // index in the heuristic's order
  double first_us = 0.0;  // median of the heuristic's first
  double chosen_us = 0.0;
};

struct DeviceFacts {
  std::string name;                // "NVIDIA H200", or the CPU's model name
  std::string driver;              // "580.159.04", empty on the CPU
  std::string compute_capability;  // "9.0", empty on the CPU
  std::string cublaslt_version;    // "13.10.0", empty where not loaded
  std::string cublaslt_path;
  std::string blas;         // "OpenBLAS 0.3.21" on the CPU
  int multiprocessors = 0;  // SMs, or CPU threads in use
  std::int64_t memory_bytes = 0;
};

struct RunResult {
  std::uint64_t id = 0;  // of the request it answers
  RunRequest effective;
  std::vector<Deviation> deviations;
  std::vector<std::int64_t> splits;  // as routed
  DeviceFacts device;
  OperandStatistics activations;
  OperandStatistics weights;
  OperandStatistics gradients;  // dY; empty without a backward pass
  std::vector<ExpertResult> experts;
  bool backward = false;      // experts have dgrad and wgrad
  std::string emulated = {};  // not empty: products ran on dequantized operands, and why
  GraphFacts graph = {};      // all 0 without a graph
  ReplayWatchFacts watch = {};
  std::vector<AlgorithmChoice> algorithms = {};
  Measurements measurements = {};
  std::vector<Iteration> iterations;
  std::vector<ReplayCheck> replay_checks;
  std::string
      iteration_method;  // "CUDA events around each graph launch", "steady clock around each step"
  std::string activity_method;  // "CUPTI activity records", "steady clock per expert and stage", or
                                // why there is none
  std::uint64_t dropped_records = 0;
  double flop = 0.0;         // of one step, all layers
  std::int64_t wall_ns = 0;  // whole run on the engine thread, set-up and statistics included
};

}  // namespace engine
