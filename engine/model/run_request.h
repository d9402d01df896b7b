// RunRequest is the whole experiment: cache key, wire message, session header, bug report and
// command line at once. Plain values, no CUDA. Limits are next to the fields; validate()
// checks them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "engine/model/backend_traits.h"
#include "engine/model/error.h"
#include "engine/model/expert_layer.h"
#include "engine/model/fields.h"
#include "engine/model/measurement.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/shape.h"
#include "kernels/common/formats.h"

namespace engine {

inline constexpr int kMaxHistoryLength = 4096;
inline constexpr int kMaxMargin = 32;
inline constexpr int kMaxAlignment = 4096;
inline constexpr int kMaxLayers = 8;
inline constexpr int kMaxStreams = 16;
inline constexpr int kMaxWeightReuse = 1024;
inline constexpr int kMaxTopK = 64;  // experts of a token; routers choose 1 to 16
inline constexpr double kMinDeadlineFactor = 2.0;
inline constexpr double kMaxDeadlineFactor = 10000.0;

using ElementType = kernels::InputType;  // Bf16, Fp16, Fp32
using Fp8Format = kernels::Fp8Format;    // E4m3, E5m2

using kernels::element_bytes;

enum class Distribution {
  Normal,       // mean 0, standard deviation 1 (activations) or 1/sqrt(k) (weights)
  Uniform,      // [-1, 1) times the same deviation
  HeavyTailed,  // normal, with every 64th column (by hash) 50 times larger: outlier channels
  Zeros,
  NonFinite,  // normal, with a sprinkling of +inf, -inf and NaN (1 element in 4096 each, by hash)
};
constexpr auto enum_names(Distribution) {
  return std::to_array<std::string_view>(
      {"normal", "uniform", "heavy-tailed", "zeros", "non-finite"});
}

struct SyntheticInput {
  Distribution distribution = Distribution::Normal;
  ElementType element = ElementType::Bf16;
  bool operator==(const SyntheticInput&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&SyntheticInput::distribution, &SyntheticInput::element>();
  }
};

/// A tensor from disk: .npy (float32, float16, or uint16 holding BF16 bits) or .safetensors (F32,
/// F16, BF16).
struct FileInput {
  std::string path;
  std::string tensor;  // name inside a .safetensors file; empty for .npy; weights with a tensor per
                       // expert: {} stands for the expert's number
  bool operator==(const FileInput&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&FileInput::path>(kInputFile),
                      engine::field<&FileInput::tensor>()};
  }
  Flaw flaw() const;
};

using InputSpec = std::variant<SyntheticInput, FileInput>;
template <>
struct ChoiceNames<InputSpec> {
  static constexpr std::string_view name = "engine::InputSpec";
  static constexpr std::array<std::string_view, 2> names = {"synthetic", "file"};
};

enum class RoutingDistribution {
  Uniform,    // equal shares
  Mild,       // equal shares +-20 %
  Zipf,       // share_e proportional to (e+1)^-0.7
  Heavy,      // share_e proportional to (e+1)^-1.5
  OneHot,     // expert 0 gets every token
  HalfEmpty,  // odd experts get none, even ones equal shares
  File,       // from a routing file, step by step; a list of splits is a routing file of one step
};
constexpr auto enum_names(RoutingDistribution) {
  return std::to_array<std::string_view>(
      {"uniform", "mild", "zipf", "heavy", "one-hot", "half-empty", "file"});
}

/// What the numbers of a routing file are; two choices are named after the programs that write such
/// files (engine/input/recorded_routing.h).
enum class RoutingNumbers {
  Detect,    // by name, type, dimensions and values; the run reports the result
  Counts,    // rows per expert: [experts], [steps, experts] or, as SGLang's logical_count,
             // [steps, layers, experts]
  Vllm,      // experts of every token: [tokens, top_k], [tokens, layers, top_k] or
             // [sequences, tokens, layers, top_k]
  Megatron,  // the same by layer: [tokens, top_k], [layers, tokens, top_k] or
             // [steps, layers, tokens, top_k], or a tensor per layer, or per step and layer
};
constexpr auto enum_names(RoutingNumbers) {
  return std::to_array<std::string_view>({"detect", "counts", "vllm", "megatron"});
}

inline constexpr int kMaxRecordedLayers = 4096;

struct RoutingSpec {
  RoutingDistribution distribution = RoutingDistribution::Uniform;
  std::string
      path;  // only for File, as everything below the alignment: .json, .npy, .npz, .safetensors
  /// Every split but the last non-empty one is a multiple of this; 1 = any.
  std::int64_t alignment = 1;
  std::string tensor = {};  // in the file; empty = the only one, or the one with a usual name
  RoutingNumbers numbers = RoutingNumbers::Detect;
  int layer =
      0;  // of the routing file, counted from 0; every layer of the step uses the same routing
  /// Iteration i of the run has the splits of step first_step + i % steps; the first step of the
  /// file follows its last. 0 steps = all.
  std::int64_t first_step = 0;
  int steps = 0;
  /// Consecutive tokens that form one step, where the file names experts of tokens; 0 = all of a
  /// sequence, or of a tensor per step.
  std::int64_t tokens_per_step = 0;
  bool operator==(const RoutingSpec&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&RoutingSpec::distribution>({.also = "routing"}),
        engine::field<&RoutingSpec::path>(kInputFile),
        engine::field<&RoutingSpec::alignment>({.low = 1, .high = kMaxAlignment}),
        engine::field<&RoutingSpec::tensor>(),
        engine::field<&RoutingSpec::numbers>(),
        engine::field<&RoutingSpec::layer>({.low = 0, .high = kMaxRecordedLayers - 1}),
        engine::field<&RoutingSpec::first_step>({.low = 0, .high = kMaxDimension}),
        engine::field<&RoutingSpec::steps>({.low = 0, .high = kMaxRecordedSteps}),
        engine::field<&RoutingSpec::tokens_per_step>({.low = 0, .high = kMaxDimension})};
  }
  Flaw flaw() const;
};

/// Used with Scaling::PerTensorDelayed only. The iterations of a run are the steps of its history.
struct DelayedScaling {
  int history_length = 1024;
  kernels::AmaxAlgorithm algorithm = kernels::AmaxAlgorithm::Max;
  int margin = 0;  // the scale is 2^margin smaller
  bool operator==(const DelayedScaling&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&DelayedScaling::history_length>({.low = 1, .high = kMaxHistoryLength}),
        engine::field<&DelayedScaling::algorithm>(),
        engine::field<&DelayedScaling::margin>({.low = -kMaxMargin, .high = kMaxMargin})};
  }
};

struct Recipe {
  Scaling scaling = Scaling::Block;
  /// Element type of Y and dX, and of every operand that is not quantized: BF16 or FP16.
  ElementType high_precision = ElementType::Bf16;
  Fp8Format activation_format =
      Fp8Format::E4m3;  // weights are always E4M3; ignored when scaling is None
  Fp8Format gradient_format = Fp8Format::E4m3;  // of dY; per-tensor scaling often takes E5M2
  bool pow2_scales = true;                      // scale rounded down to a power of two
  float amax_epsilon = 0.0F;                    // amax below this counts as this; >= 0
  bool split_accumulator = true;  // promote partial sums to FP32; always on with block scaling
  DelayedScaling delayed = {};
  bool square_weight_blocks = true;       // W: 128x128 (FP8 block), 32x32 (MXFP8), 16x16 (NVFP4)
  bool square_activation_blocks = false;  // X: 128x128 (FP8 block)
  bool square_gradient_blocks = false;    // dY: 128x128 (FP8 block)
  bool hadamard = true;                   // NVFP4: random Hadamard transform on the columnwise copy
  bool stochastic_rounding = false;       // NVFP4: Philox from the request's seed
  bool operator==(const Recipe&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&Recipe::scaling>({.also = "recipe"}),
        engine::field<&Recipe::high_precision>({.without = bit_of(ElementType::Fp32)}),
        engine::field<&Recipe::activation_format>(),
        engine::field<&Recipe::gradient_format>(),
        engine::field<&Recipe::pow2_scales>(),
        engine::field<&Recipe::amax_epsilon>({.low = 0}),
        engine::field<&Recipe::split_accumulator>(),
        engine::field<&Recipe::delayed>(),
        engine::field<&Recipe::square_weight_blocks>(),
        engine::field<&Recipe::square_activation_blocks>(),
        engine::field<&Recipe::square_gradient_blocks>(),
        engine::field<&Recipe::hadamard>(),
        engine::field<&Recipe::stochastic_rounding>()};
  }
};

constexpr const RecipeTraits& traits_of(const Recipe& recipe) { return traits_of(recipe.scaling); }

/// Whether X and dY get FP8 codes with one FP32 scale for each line of 128 elements.
constexpr bool quantizes_in_fp8_lines(const Recipe& recipe) {
  const RecipeTraits& traits = traits_of(recipe);
  const bool squares = traits.square_activations &&
                       (recipe.square_activation_blocks || recipe.square_gradient_blocks);
  return traits.fp32_scales() && traits.block == 128 && !squares;
}

/// Where the pointer and dimension arrays of the grouped products live.
enum class SetupArrays {
  PerMatmul,  // each product has its own; one launch at the head of the step fills all
  Shared,     // one set, filled again by a launch before every product
};
constexpr auto enum_names(SetupArrays) {
  return std::to_array<std::string_view>({"per-matmul", "shared"});
}

enum class LaunchKind { Eager, GraphReplay };
constexpr auto enum_names(LaunchKind) {
  return std::to_array<std::string_view>({"eager", "graph-replay"});
}

/// The graphs that a step is captured as.
enum class StepGraphs {
  One,
  ForwardAndBackward,  // one of each for every micro-batch, as training frameworks capture them
};
constexpr auto enum_names(StepGraphs) {
  return std::to_array<std::string_view>({"one", "forward-and-backward"});
}

/// Where graphs allocate the memory that only they use, if a step has several.
enum class PoolSharing {
  Shared,       // what a graph gives back at the end of its capture serves those captured after it
  OnePerGraph,  // no graph uses memory of another, except what forward saves for its backward
};
constexpr auto enum_names(PoolSharing) {
  return std::to_array<std::string_view>({"shared", "one-per-graph"});
}

inline constexpr int kMaxInFlight = 8;

struct LaunchMode {
  LaunchKind kind = LaunchKind::Eager;
  int iterations = 10;  // eager repetitions, or replays of the captured graph; the fewest, if
                        // median_within is not 0
  /// Iterations go on until the 95 % interval of their median ends within this many percent of it,
  /// or for time_limit_s, or to kMaxIterations; 0 = `iterations` are run, whatever their spread.
  double median_within = 0.0;
  double time_limit_s = 10.0;
  /// A replay that takes this many times the 99th percentile of the previous ones is a stall, with
  /// the floor and the longer first deadlines of engine/model/replay_deadline.h; 2..10000, 0 = no
  /// deadline.
  double deadline_factor = 20.0;
  /// Replays: a node behind every kernel node says that it was reached, so that a stall names the
  /// last one. Replays then follow each other one at a time.
  bool markers = false;
  /// These apply to an expert layer with both passes. Graphs allocate from a pool what only they
  /// use (engine/model/buffer_life.h).
  StepGraphs graphs = StepGraphs::One;
  PoolSharing graph_pool = PoolSharing::Shared;
  /// Micro-batches of a step: forward 1, forward 2, ..., backward 1, backward 2, ... Each has the
  /// request's tokens and its own splits: those of the next recorded step or, without a routing
  /// file, the first splits rotated by its number.
  int in_flight = 1;
  bool operator==(const LaunchMode&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&LaunchMode::kind>({.also = "launch"}),
        engine::field<&LaunchMode::iterations>({.low = 1, .high = kMaxIterations}),
        engine::field<&LaunchMode::median_within>(
            {.low = 0.01, .high = 50, .allow_zero = true, .unit = "%"}),
        engine::field<&LaunchMode::time_limit_s>({.low = 0.1, .high = 3600, .unit = "s"}),
        engine::field<&LaunchMode::deadline_factor>(
            {.low = kMinDeadlineFactor, .high = kMaxDeadlineFactor, .allow_zero = true}),
        engine::field<&LaunchMode::markers>(),
        engine::field<&LaunchMode::graphs>(),
        engine::field<&LaunchMode::graph_pool>(),
        engine::field<&LaunchMode::in_flight>({.low = 1, .high = kMaxInFlight})};
  }
};

/// What one step runs. Backward alone reads what a previous forward step saved.
enum class StepPasses { Forward, Backward, ForwardBackward };
constexpr auto enum_names(StepPasses) {
  return std::to_array<std::string_view>({"forward", "backward", "forward-backward"});
}

/// How the weights of a layer are stored.
enum class WeightStorage {
  Grouped,  // one tensor [num_experts, n, k], one quantizer
  List,     // num_experts tensors [n, k]
};
constexpr auto enum_names(WeightStorage) {
  return std::to_array<std::string_view>({"grouped", "list"});
}

/// What the grouped products of a step compute: Y = X W^T (+ b), dX = dY W, dW = dY^T X, db = sum
/// of dY's rows. Both projections of an expert layer have the same options.
struct ProductOptions {
  StepPasses passes = StepPasses::Forward;
  InputSpec gradients = {};  // dY [tokens, n], or [tokens, k]; every layer reads the same
  bool bias = false;         // adds b to Y; backward gives its gradient
  WeightStorage weight_storage = WeightStorage::Grouped;
  ElementType wgrad_type = ElementType::Bf16;  // of dW: BF16 or FP32
  bool accumulate_wgrad = false;               // dW += instead of dW =
  bool delayed_wgrad = false;  // every dW at the end of the step instead of after its dX
  /// Iterations with the same weights: they are quantized in the first of every so many, and the
  /// others use those copies, as the micro-batches of an update do.
  int weight_reuse = 1;
  bool operator==(const ProductOptions&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&ProductOptions::passes>(),
        engine::field<&ProductOptions::gradients>(),
        engine::field<&ProductOptions::bias>(),
        engine::field<&ProductOptions::weight_storage>(),
        engine::field<&ProductOptions::wgrad_type>({.without = bit_of(ElementType::Fp16)}),
        engine::field<&ProductOptions::accumulate_wgrad>(),
        engine::field<&ProductOptions::delayed_wgrad>(),
        engine::field<&ProductOptions::weight_reuse>(
            {.low = 1, .high = kMaxWeightReuse, .formerly = "micro_batches"})};
  }
};

/// The expert layer (engine/model/expert_layer.h). Its up projection is the linear step of the same
/// request: n counts the columns of H, so a gated activation leaves n / 2 for A. dY is then
/// [tokens, k].
struct ExpertLayerOptions {
  LayerActivation activation = LayerActivation::SwiGlu;
  /// A and dH are computed inside the kernels that quantize them, where a recipe has such kernels;
  /// off = they are written in high precision first.
  bool fused_activation = true;
  /// Backward computes A again from H instead of reading what forward saved of it.
  bool recompute_activation = false;
  InputSpec down_weights = {};           // Wdown [num_experts, k, columns of A]
  bool mixed_recipes = false;            // the down projection has a scaling of its own
  Scaling down_scaling = Scaling::None;  // the rest of the recipe is shared
  /// 0 = X, dY and Y are rows in the order of their experts. k > 0 = the step begins and ends at
  /// tokens: shape.rows rows are the copies of shape.rows / k tokens, and X and dY have a row
  /// for each token (engine/input/token_routing.h).
  int top_k = 0;
  bool operator==(const ExpertLayerOptions&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ExpertLayerOptions::activation>(),
                      engine::field<&ExpertLayerOptions::fused_activation>(),
                      engine::field<&ExpertLayerOptions::recompute_activation>(),
                      engine::field<&ExpertLayerOptions::down_weights>(),
                      engine::field<&ExpertLayerOptions::mixed_recipes>(),
                      engine::field<&ExpertLayerOptions::down_scaling>(),
                      engine::field<&ExpertLayerOptions::top_k>({.low = 0, .high = kMaxTopK})};
  }
};

struct RunRequest {
  StepKind step = StepKind::Linear;
  ShapeSpec shape;
  RoutingSpec routing;
  InputSpec activations;  // X [tokens, k]
  InputSpec weights;      // W [num_experts, n, k]
  Recipe recipe;
  ProductOptions products;
  ExpertLayerOptions expert_layer;
  GemmBackend backend = GemmBackend::CpuReference;
  int streams = 4;  // of CublasLtPerExpert
  WorkspaceStrategy workspace = WorkspaceStrategy::PerMatmul;
  SetupArrays setup_arrays = SetupArrays::PerMatmul;
  /// Grouped products: time the algorithms that the heuristic offers once per shape and take the
  /// fastest; off = its first.
  bool try_algorithms = true;
  /// CUDA: this project's kernels are launched with programmatic stream serialization (in a graph,
  /// programmatic edges): a kernel may start while its predecessor ends, and waits for it before
  /// its first access.
  bool programmatic_launch = false;
  bool int32_splits = false;  // CUDA: the splits on the device are 32 bits wide; else 64
  LaunchMode launch;
  MeasureOptions measure = {};
  int layers = 1;  // linear or expert layers in one step, each with its own weights and output, all
                   // reading the same X
  std::uint64_t seed = 1;
  std::string cublaslt_library;  // path; empty = the worker's default

  bool operator==(const RunRequest&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&RunRequest::step>(),
                      engine::field<&RunRequest::shape>(),
                      engine::field<&RunRequest::routing>(),
                      engine::field<&RunRequest::activations>(),
                      engine::field<&RunRequest::weights>(),
                      engine::field<&RunRequest::recipe>(),
                      engine::field<&RunRequest::products>({.formerly = "linear"}),
                      engine::field<&RunRequest::expert_layer>(),
                      engine::field<&RunRequest::backend>(),
                      engine::field<&RunRequest::streams>({.low = 1, .high = kMaxStreams}),
                      engine::field<&RunRequest::workspace>(),
                      engine::field<&RunRequest::setup_arrays>(),
                      engine::field<&RunRequest::try_algorithms>(),
                      engine::field<&RunRequest::programmatic_launch>(),
                      engine::field<&RunRequest::int32_splits>(),
                      engine::field<&RunRequest::launch>(),
                      engine::field<&RunRequest::measure>(),
                      engine::field<&RunRequest::layers>({.low = 1, .high = kMaxLayers}),
                      engine::field<&RunRequest::seed>(),
                      engine::field<&RunRequest::cublaslt_library>(kPath)};
  }
  Flaw flaw() const;
};

}  // namespace engine
