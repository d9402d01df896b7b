// The result of one run: effective settings with the reason for every deviation, numerics and
// times. Plain values, no CUDA. A number states its method if there is more than one.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/run_request.h"

namespace engine {

inline constexpr int kHistogramBins = 1024;  // FP32 bits without sign, shifted right by 21
inline constexpr int kMaxMapSide = 512;      // cells of a scale map

/// One setting that could not be applied as requested.
struct Deviation {
  std::string field;      // "backend", "launch", "splits", ...
  std::string requested;  // as text
  std::string effective;
  std::string reason;  // a sentence: what blocks it and what to do
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&Deviation::field, &Deviation::requested, &Deviation::effective,
                          &Deviation::reason>();
  }
};

/// Counts of magnitudes. Bin b of `counts` holds |x| whose FP32 bit pattern (sign cleared) shifted
/// right by 21 is first_bin + b: four bins per power of two, split evenly in the mantissa. Zeros
/// and non-finite values are counted separately.
struct MagnitudeHistogram {
  int first_bin = 0;
  std::vector<std::uint64_t> counts;
  std::uint64_t zeros = 0;
  std::uint64_t infinities = 0;
  std::uint64_t nans = 0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&MagnitudeHistogram::first_bin>({.low = 0, .high = kHistogramBins}),
        engine::field<&MagnitudeHistogram::counts>(
            {.low = 0, .high = kMaxCount, .most = kHistogramBins}),
        engine::field<&MagnitudeHistogram::zeros>(kCount),
        engine::field<&MagnitudeHistogram::infinities>(kCount),
        engine::field<&MagnitudeHistogram::nans>(kCount)};
  }
  Flaw flaw() const;
};

/// All scales of an operand in a few figures, taken before any folding. All 0: not measured.
struct ScaleSummary {
  std::uint64_t scales = 0;       // finite and above 0
  std::uint64_t distinct = 0;     // different values among them
  double mean = 0.0;              // of log2 of scale_inv
  double deviation = 0.0;         // of the same: standard deviation of the population
  std::uint64_t saturated = 0;    // scales with at least one saturated element
  std::uint64_t underflowed = 0;  // scales with at least one element that became zero
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ScaleSummary::scales>(kCount),
                      engine::field<&ScaleSummary::distinct>(kCount),
                      engine::field<&ScaleSummary::mean>(),
                      engine::field<&ScaleSummary::deviation>(),
                      engine::field<&ScaleSummary::saturated>(kCount),
                      engine::field<&ScaleSummary::underflowed>(kCount)};
  }
};

/// Block scales folded to at most kMaxMapSide x kMaxMapSide cells for a texture. Cell values are
/// log2 of scale_inv; NaN where no scale of the cell is finite and above 0.
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
  /// The rest is empty if not measured.
  std::vector<float> minimum = {};            // [rows, columns]
  std::vector<float> deviation = {};          // [rows, columns], standard deviation in a cell
  std::vector<float> saturated_share = {};    // [rows, columns], of the elements of a cell: 0 to 1
  std::vector<float> underflowed_share = {};  // [rows, columns]
  ScaleSummary summary = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&ScaleMap::block_rows>(
            {.low = 0, .high = double{kMaxDimension} * kMaxExperts}),
        engine::field<&ScaleMap::block_columns>(
            {.low = 0, .high = double{kMaxDimension} * kMaxExperts}),
        engine::field<&ScaleMap::source_rows>(
            {.low = 0, .high = double{kMaxDimension} * kMaxExperts}),
        engine::field<&ScaleMap::source_columns>(
            {.low = 0, .high = double{kMaxDimension} * kMaxExperts}),
        engine::field<&ScaleMap::rows>({.low = 0, .high = kMaxMapSide}),
        engine::field<&ScaleMap::columns>({.low = 0, .high = kMaxMapSide}),
        engine::field<&ScaleMap::mean>({.most = kMaxMapSide * kMaxMapSide}),
        engine::field<&ScaleMap::maximum>({.most = kMaxMapSide * kMaxMapSide}),
        engine::field<&ScaleMap::expert_first_row>({.most = kMaxExperts + 1}),
        engine::field<&ScaleMap::minimum>({.most = kMaxMapSide * kMaxMapSide}),
        engine::field<&ScaleMap::deviation>({.most = kMaxMapSide * kMaxMapSide}),
        engine::field<&ScaleMap::saturated_share>({.most = kMaxMapSide * kMaxMapSide}),
        engine::field<&ScaleMap::underflowed_share>({.most = kMaxMapSide * kMaxMapSide}),
        engine::field<&ScaleMap::summary>()};
  }
  Flaw flaw() const;
};

/// Quantization of one operand of layer 0, all experts together.
/// Neighbours in a row whose error is measured together: the shortest line that a recipe scales.
inline constexpr int kErrorBlock = 16;

struct OperandStatistics {
  MagnitudeHistogram before;  // |x|
  MagnitudeHistogram after;   // |dequantized x|
  MagnitudeHistogram amax;    // one count per scale; empty for BF16
  MagnitudeHistogram
      scale;  // the quantization scale (not its inverse), one count per scale; empty for BF16
  ScaleMap scale_map;  // empty for BF16
  std::uint64_t elements = 0;
  std::uint64_t saturated = 0;    // |x * scale| above the format's largest finite value
  std::uint64_t underflowed = 0;  // x != 0 became 0
  double snr_db =
      0.0;  // 10 log10(sum x^2 / sum (x - dequantized)^2) over finite elements; +inf if exact
  /// Error of the typical element, which a few large ones do not decide, as they decide snr_db:
  /// median over blocks of kErrorBlock neighbours in a row of a block's own SNR, blocks of zeros
  /// left out. NaN: no such block, a run whose operands were quantized on a device, or a recording
  /// that does not have it.
  double median_block_snr_db = std::numeric_limits<double>::quiet_NaN();
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&OperandStatistics::before>(),
                      engine::field<&OperandStatistics::after>(),
                      engine::field<&OperandStatistics::amax>(),
                      engine::field<&OperandStatistics::scale>(),
                      engine::field<&OperandStatistics::scale_map>(),
                      engine::field<&OperandStatistics::elements>(kCount),
                      engine::field<&OperandStatistics::saturated>(kCount),
                      engine::field<&OperandStatistics::underflowed>(kCount),
                      engine::field<&OperandStatistics::snr_db>(),
                      engine::field<&OperandStatistics::median_block_snr_db>()};
  }
};

enum class Product : std::uint8_t { Fprop, Dgrad, Wgrad };
constexpr auto enum_names(Product) {
  return std::to_array<std::string_view>({"fprop", "dgrad", "wgrad"});
}
/// What the product makes: "Y", "dX" or "dW".
constexpr const char* output_name(Product product) {
  switch (product) {
    case Product::Fprop:
      return "Y";
    case Product::Dgrad:
      return "dX";
    case Product::Wgrad:
      break;
  }
  return "dW";
}

/// Error of one product of one expert against the product of the unquantized operands, over the
/// elements where both are finite. NaN where nothing was compared: a pass that did not run, an
/// expert without rows.
struct ProductAccuracy {
  double snr_db = std::numeric_limits<double>::quiet_NaN();  // +inf if equal
  double max_abs_error = std::numeric_limits<double>::quiet_NaN();
  double reference_rms = std::numeric_limits<double>::quiet_NaN();
  /// Elements that overflowed: infinite or NaN although the reference is finite. The numbers above
  /// leave them out.
  std::uint64_t lost = 0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ProductAccuracy::snr_db>(),
                      engine::field<&ProductAccuracy::max_abs_error>(),
                      engine::field<&ProductAccuracy::reference_rms>(),
                      engine::field<&ProductAccuracy::lost>(kCount)};
  }
};

/// Numerics and counts of one expert, product of layer 0 against the product of the unquantized
/// operands.
struct ExpertResult {
  std::int64_t rows = 0;
  ProductAccuracy fprop = {};   // of Y
  std::uint64_t saturated = 0;  // of X
  std::uint64_t underflowed = 0;
  double x_snr_db = 0.0;
  /// Largest error of X in units in the last place of its codes: 0.5 is correct rounding. NaN where
  /// nothing was quantized.
  double x_max_ulp = std::numeric_limits<double>::quiet_NaN();
  /// Of dX and dW, layer 0; only where RunResult::backward says so.
  ProductAccuracy dgrad = {};
  ProductAccuracy wgrad = {};

  const ProductAccuracy& of(Product product) const {
    return product == Product::Fprop ? fprop : product == Product::Dgrad ? dgrad : wgrad;
  }
  ProductAccuracy& of(Product product) {
    return const_cast<ProductAccuracy&>(std::as_const(*this).of(product));
  }
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ExpertResult::rows>({.low = 0, .high = kMaxDimension}),
                      engine::field<&ExpertResult::fprop>(),
                      engine::field<&ExpertResult::saturated>(kCount),
                      engine::field<&ExpertResult::underflowed>(kCount),
                      engine::field<&ExpertResult::x_snr_db>(),
                      engine::field<&ExpertResult::x_max_ulp>({.sparse = true}),
                      engine::field<&ExpertResult::dgrad>({.sparse = true}),
                      engine::field<&ExpertResult::wgrad>({.sparse = true})};
  }
};

/// What ended the timed iterations (LaunchMode::median_within).
enum class IterationEnd : std::uint8_t {
  Number,     // as many as were asked for
  Known,      // their median is known as well as was asked for
  TimeLimit,  // it is not, within the time limit
  Most,       // it is not, after kMaxIterations
};
constexpr auto enum_names(IterationEnd) {
  return std::to_array<std::string_view>({"number", "known", "time-limit", "most"});
}

/// Duration of one iteration: CUDA events around the launch on a GPU, the steady clock on the CPU.
struct Iteration {
  std::int64_t start_ns = 0;  // since the run's first iteration
  std::int64_t duration_ns = 0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&Iteration::start_ns>({.low = -kMaxTime_ns, .high = kMaxTime_ns}),
        engine::field<&Iteration::duration_ns>(kDuration_ns)};
  }
};

/// Replays against an eager run, bit for bit. A run without a graph has none.
struct ReplayCheck {
  int replay = 0;  // 1-based
  int layer = 0;
  Product product = Product::Fprop;
  std::vector<int> wrong_experts;  // output bits differ from the eager run; empty = equal
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ReplayCheck::replay>({.low = 1, .high = kMaxIterations}),
                      engine::field<&ReplayCheck::layer>({.low = 0, .high = kMaxLayers - 1}),
                      engine::field<&ReplayCheck::product>(),
                      engine::field<&ReplayCheck::wrong_experts>(
                          {.low = 0, .high = kMaxExperts - 1, .most = kMaxExperts})};
  }
};

/// The contents of a captured step, and the host cost of launching it.
struct GraphFacts {
  int kernels = 0;
  int memsets = 0;
  int copies = 0;
  int allocations = 0;  // memory nodes: allocate or free
  int host_calls = 0;
  std::int64_t host_launch_ns = 0;  // median of cudaGraphLaunch()
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&GraphFacts::kernels>({.low = 0, .high = kMaxGraphNodes}),
                      engine::field<&GraphFacts::memsets>({.low = 0, .high = kMaxGraphNodes}),
                      engine::field<&GraphFacts::copies>({.low = 0, .high = kMaxGraphNodes}),
                      engine::field<&GraphFacts::allocations>({.low = 0, .high = kMaxGraphNodes}),
                      engine::field<&GraphFacts::host_calls>({.low = 0, .high = kMaxGraphNodes}),
                      engine::field<&GraphFacts::host_launch_ns>(kDuration_ns)};
  }
};

/// How the replays of a graph were watched. All 0: nothing was replayed or watched.
struct ReplayWatchFacts {
  int replays = 0;                // checked ones, timed ones and those under other trace levels
  double p99_us = 0.0;            // of their durations
  double deadline_seconds = 0.0;  // for a hypothetical next one; 0 = none
  int markers = 0;                // nodes with a marker behind them; 0 = no markers
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&ReplayWatchFacts::replays>({.low = 0, .high = 1e6}),
        engine::field<&ReplayWatchFacts::p99_us>({.low = 0}),
        engine::field<&ReplayWatchFacts::deadline_seconds>({.low = 0}),
        engine::field<&ReplayWatchFacts::markers>({.low = 0, .high = kMaxGraphNodes})};
  }
};

/// Result of timing the candidates of a product, layer 0.
struct AlgorithmChoice {
  Product product = Product::Fprop;
  int candidates = 0;     // that were timed; 0 = the heuristic's first was taken untimed
  int chosen = 0;         // index in the heuristic's order
  double first_us = 0.0;  // median of the heuristic's first
  double chosen_us = 0.0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&AlgorithmChoice::product>(),
                      engine::field<&AlgorithmChoice::candidates>({.low = 0, .high = 1000}),
                      engine::field<&AlgorithmChoice::chosen>({.low = 0, .high = 1000}),
                      engine::field<&AlgorithmChoice::first_us>(),
                      engine::field<&AlgorithmChoice::chosen_us>()};
  }
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
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&DeviceFacts::name>(),
                      engine::field<&DeviceFacts::driver>(),
                      engine::field<&DeviceFacts::compute_capability>(),
                      engine::field<&DeviceFacts::cublaslt_version>(),
                      engine::field<&DeviceFacts::cublaslt_path>(),
                      engine::field<&DeviceFacts::blas>(),
                      engine::field<&DeviceFacts::multiprocessors>({.low = 0, .high = 1 << 20}),
                      engine::field<&DeviceFacts::memory_bytes>(kCount)};
  }
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
  IterationEnd iteration_end = IterationEnd::Number;
  std::string
      iteration_method;  // "CUDA events around each graph launch", "steady clock around each step"
  std::string activity_method;  // "CUPTI activity records", "steady clock per expert and stage", or
                                // why there is none
  std::uint64_t dropped_records = 0;
  double flop = 0.0;         // of one step, all layers
  std::int64_t wall_ns = 0;  // whole run on the engine thread, set-up and statistics included
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&RunResult::id>(),
        engine::field<&RunResult::effective>(),
        engine::field<&RunResult::deviations>({.most = 1000}),
        engine::field<&RunResult::splits>({.low = 0, .high = kMaxDimension, .most = kMaxExperts}),
        engine::field<&RunResult::device>(),
        engine::field<&RunResult::activations>(),
        engine::field<&RunResult::weights>(),
        engine::field<&RunResult::gradients>({.sparse = true}),
        engine::field<&RunResult::experts>({.most = kMaxExperts}),
        engine::field<&RunResult::backward>(),
        engine::field<&RunResult::emulated>(),
        engine::field<&RunResult::graph>(),
        engine::field<&RunResult::watch>(),
        engine::field<&RunResult::algorithms>({.most = 3}),
        engine::field<&RunResult::measurements>(),
        engine::field<&RunResult::iterations>({.most = kMaxIterations}),
        engine::field<&RunResult::replay_checks>({.most = 1'000'000}),
        engine::field<&RunResult::iteration_end>(),
        engine::field<&RunResult::iteration_method>(),
        engine::field<&RunResult::activity_method>(),
        engine::field<&RunResult::dropped_records>(kCount),
        engine::field<&RunResult::flop>({.low = 0}),
        engine::field<&RunResult::wall_ns>(kDuration_ns)};
  }
};

}  // namespace engine
