// The result of one run: effective settings with the reason for every deviation, numerics and
// times. Plain values, no CUDA. A number states its method if there is more than one.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/recorded_steps.h"
#include "engine/model/run_request.h"
#include "engine/model/tensor_result.h"

namespace engine {

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

enum class Product : std::uint8_t { Fprop, Dgrad, Wgrad };
constexpr auto enum_names(Product) {
  return std::to_array<std::string_view>({"fprop", "dgrad", "wgrad"});
}
/// Symbol of the product's output: "Y", "dX" or "dW".
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

/// Numerics and counts of one expert: the product of layer 0 against the product of the unquantized
/// operands. In an expert layer: Y, dX and dWup against the whole layer computed from the
/// unquantized operands.
struct ExpertResult {
  std::int64_t rows = 0;
  ProductAccuracy fprop = {};   // of Y
  std::uint64_t saturated = 0;  // of X
  std::uint64_t underflowed = 0;
  double x_snr_db = 0.0;
  /// Largest error of X in units in the last place of its codes: 0.5 is correct rounding. NaN where
  /// nothing was quantized.
  double x_max_ulp = std::numeric_limits<double>::quiet_NaN();
  /// Accuracy of dX and dW, layer 0; only if RunResult::backward is set.
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
  FixedCount,     // the requested number of iterations has run
  Converged,      // the median is known as precisely as requested
  TimeLimit,      // it is not, at the time limit
  MaxIterations,  // it is not, after kMaxIterations
};
constexpr auto enum_names(IterationEnd) {
  return std::to_array<std::string_view>(
      {"fixed-count", "converged", "time-limit", "max-iterations"});
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

/// Comparison of replays with an eager run, bit for bit. A run without a graph has no checks.
struct ReplayCheck {
  int replay = 0;  // 1-based
  int layer = 0;   // counts linear_layers()
  Product product = Product::Fprop;
  int micro_batch = 0;             // of the step, from 0
  std::vector<int> wrong_experts;  // output bits differ from the eager run; empty = equal
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&ReplayCheck::replay>({.low = 1, .high = kMaxIterations}),
        engine::field<&ReplayCheck::layer>({.low = 0, .high = 2 * kMaxLayers - 1}),
        engine::field<&ReplayCheck::product>(),
        engine::field<&ReplayCheck::micro_batch>({.low = 0, .high = kMaxInFlight - 1}),
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

/// One graph of a step that is captured as several.
struct StepGraph {
  std::string name;          // "forward 2"
  GraphFacts contents = {};  // and the host's cost of this graph's launch
  double median_us = 0.0;    // of its replays, between events around each
  int samples = 0;           // replays that were timed
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&StepGraph::name>(), engine::field<&StepGraph::contents>(),
                      engine::field<&StepGraph::median_us>({.low = 0}),
                      engine::field<&StepGraph::samples>({.low = 0, .high = kMaxIterations})};
  }
};

/// Memory that only graphs use. All 0: no graph has memory of its own.
struct GraphMemoryFacts {
  int pools = 0;
  std::int64_t bytes = 0;           // of all pools, as allocated
  std::int64_t unshared_bytes = 0;  // what was taken from them: without sharing, each has its own
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&GraphMemoryFacts::pools>({.low = 0, .high = 2 * kMaxInFlight}),
                      engine::field<&GraphMemoryFacts::bytes>(kCount),
                      engine::field<&GraphMemoryFacts::unshared_bytes>(kCount)};
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

/// Result of timing the candidates of a product of layer 0.
struct AlgorithmChoice {
  int layer = 0;  // as in WorkTag: 1 is an expert layer's down projection
  Product product = Product::Fprop;
  int candidates = 0;     // that were timed; 0 = the heuristic's first was taken untimed
  int chosen = 0;         // index in the heuristic's order
  double first_us = 0.0;  // median of the heuristic's first
  double chosen_us = 0.0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&AlgorithmChoice::layer>({.low = 0, .high = 1}),
                      engine::field<&AlgorithmChoice::product>(),
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
                      engine::field<&DeviceFacts::cublaslt_path>(kPath),
                      engine::field<&DeviceFacts::blas>(),
                      engine::field<&DeviceFacts::multiprocessors>({.low = 0, .high = 1 << 20}),
                      engine::field<&DeviceFacts::memory_bytes>(kCount)};
  }
};

struct RunResult {
  std::uint64_t id = 0;  // of the request it answers
  RunRequest effective;
  std::vector<Deviation> deviations;
  std::vector<std::int64_t> splits;  // as routed; of a routing file those of the first step
                                     // replayed, which all numerics below are of
  std::optional<RecordedRouting> recorded_routing = {};  // only of a routing from a file
  DeviceFacts device;
  std::vector<TensorResult> tensors = {};        // in the order of StepTensor, each at most once
  std::optional<LayerResult> expert_layer = {};  // only of StepKind::ExpertLayer
  std::vector<ExpertResult> experts;
  bool backward = false;               // experts have dgrad and wgrad
  std::string emulated = {};           // not empty: products ran on dequantized operands, and why
  GraphFacts graph = {};               // of all graphs together; all 0 without a graph
  std::vector<StepGraph> graphs = {};  // in the order of their launches; of several only
  GraphMemoryFacts graph_memory = {};
  ReplayWatchFacts watch = {};
  std::vector<AlgorithmChoice> algorithms = {};
  Measurements measurements = {};
  std::vector<Iteration> iterations;
  std::vector<ReplayCheck> replay_checks;
  IterationEnd iteration_end = IterationEnd::FixedCount;
  std::string
      iteration_method;  // "CUDA events around each graph launch", "steady clock around each step"
  std::string activity_method;  // "CUPTI activity records", "steady clock per expert and stage", or
                                // why there is none
  std::uint64_t dropped_records = 0;
  double flop = 0.0;  // of one step, all layers; of recorded steps the mean of the iterations
  std::int64_t wall_ns = 0;  // whole run on the engine thread, set-up and statistics included
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&RunResult::id>(),
        engine::field<&RunResult::effective>(),
        engine::field<&RunResult::deviations>({.most = 1000}),
        engine::field<&RunResult::splits>({.low = 0, .high = kMaxDimension, .most = kMaxExperts}),
        engine::field<&RunResult::recorded_routing>({.formerly = "recording"}),
        engine::field<&RunResult::device>(),
        engine::field<&RunResult::tensors>({.most = kStepTensors.size()}),
        engine::field<&RunResult::expert_layer>(),
        engine::field<&RunResult::experts>({.most = kMaxExperts}),
        engine::field<&RunResult::backward>(),
        engine::field<&RunResult::emulated>(),
        engine::field<&RunResult::graph>(),
        engine::field<&RunResult::graphs>({.most = 2 * kMaxInFlight}),
        engine::field<&RunResult::graph_memory>(),
        engine::field<&RunResult::watch>(),
        engine::field<&RunResult::algorithms>({.most = 6}),
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

/// The tensor's row; null if the run has none.
const TensorResult* find_tensor(const RunResult& result, StepTensor tensor);
/// The tensor's row, which is added if it is missing.
TensorResult& tensor_row(RunResult& result, StepTensor tensor);

/// The tensors of the run that its products read: those with statistics.
std::vector<StepTensor> operands_of(const RunResult& result);

/// What quantization did to that tensor; null if the run has no such operand.
const OperandStatistics* statistics_of(const RunResult& result, StepTensor tensor);

}  // namespace engine
