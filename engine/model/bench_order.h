// Requests and result rows of the two benchmarks: of the quantize kernels, and of whole steps.
// Plain values, no CUDA.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"
#include "engine/model/shape.h"

namespace engine {

enum class BenchRouting {
  Uniform,   // rows / experts for each
  OneHot,    // all rows to the first expert
  HalfFull,  // uniform, and half of the rows stay empty
};
constexpr auto enum_names(BenchRouting) {
  return std::to_array<std::string_view>({"uniform", "one-hot", "half-full"});
}

inline constexpr std::int64_t kMaxBenchElements = std::int64_t{1} << 31;

/// A grouped operand [rows, columns] in BF16, cut into `experts` groups of rows; columns are a
/// multiple of 16, and there are at most kMaxBenchElements elements.
struct BenchShape {
  int experts = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  BenchRouting routing = BenchRouting::Uniform;
  bool operator==(const BenchShape&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&BenchShape::experts>({.low = 1, .high = kMaxExperts}),
                      engine::field<&BenchShape::rows>({.low = 1, .high = kMaxBenchElements}),
                      engine::field<&BenchShape::columns>({.low = 16, .high = kMaxBenchElements}),
                      engine::field<&BenchShape::routing>()};
  }
  Flaw flaw() const;
};

inline constexpr std::size_t kMaxStepBenchCases = 64;

/// A linear step, or an expert layer by its up projection.
struct StepBenchShape {
  ShapeSpec shape;
  // The following are settings of an expert layer.
  LayerActivation activation = LayerActivation::SwiGlu;
  bool bias = false;
  int top_k = 0;  // 0 = no parts that begin at tokens
  bool operator==(const StepBenchShape&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&StepBenchShape::shape>(),
                      engine::field<&StepBenchShape::activation>(),
                      engine::field<&StepBenchShape::bias>(),
                      engine::field<&StepBenchShape::top_k>({.low = 0, .high = kMaxTopK})};
  }
};

/// Every shape is measured with every routing, at most kMaxStepBenchCases of both; no routing
/// from a file, no shape without tokens.
struct StepBenchOrder {
  std::vector<StepBenchShape> shapes = {};
  std::vector<RoutingDistribution> routings = {RoutingDistribution::Uniform,
                                               RoutingDistribution::Zipf};
  /// Command line, on the worker's machine, of a program whose products are interleaved with ours
  /// (protocol in app/worker/peer_process.h); empty = none.
  std::vector<std::string> peer = {};
  bool operator==(const StepBenchOrder&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&StepBenchOrder::shapes, &StepBenchOrder::routings,
                          &StepBenchOrder::peer>();
  }
};

enum class BenchSuite {
  Quantize,  // kernels, each alone
  Linear,    // the grouped step and its products
  Layer,     // a whole expert layer
};
constexpr auto enum_names(BenchSuite) {
  return std::to_array<std::string_view>({"quantize", "linear", "layer"});
}
/// Whether it times steps, and which.
constexpr bool times_steps(BenchSuite suite) { return suite != BenchSuite::Quantize; }
constexpr StepKind step_of(BenchSuite suite) {
  return suite == BenchSuite::Layer ? StepKind::ExpertLayer : StepKind::Linear;
}
constexpr BenchSuite suite_of(StepKind step) {
  return step == StepKind::ExpertLayer ? BenchSuite::Layer : BenchSuite::Linear;
}

inline constexpr std::size_t kMaxBenchShapes = 64;
inline constexpr double kMaxBenchSeconds = 600;

struct BenchOrder {
  BenchSuite suite = BenchSuite::Quantize;
  bool cpu = false;                     // the CPU twins, even where there is a device
  std::vector<BenchShape> shapes = {};  // empty = default_bench_shapes() of what it runs on
  double seconds = 2;                   // per shape; at least a few rounds always run
  StepBenchOrder steps = {};            // of suites that time steps, which have their own shapes
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&BenchOrder::suite>(), engine::field<&BenchOrder::cpu>(),
                      engine::field<&BenchOrder::shapes>({.most = kMaxBenchShapes}),
                      engine::field<&BenchOrder::seconds>({.low = 0, .high = kMaxBenchSeconds}),
                      engine::field<&BenchOrder::steps>()};
  }
  Flaw flaw() const;
};

/// One kernel on one shape; times are of single launches, in microseconds.
struct BenchRow {
  BenchShape shape;
  std::string kernel;  // "copy", "mxfp8_both", ...
  double bytes = 0;    // compulsory traffic of a launch: read once (or twice) and written once
  std::int64_t elements = 0;  // that a launch quantizes, excluding rows outside all experts
  double median_us = 0, p5_us = 0, p95_us = 0;
  int samples = 0;     // number of times behind the three values
  int launches = 1;    // back to back in each sample
  double of_copy = 0;  // bytes per second relative to "copy" in the same run and shape
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&BenchRow::shape, &BenchRow::kernel, &BenchRow::bytes,
                          &BenchRow::elements, &BenchRow::median_us, &BenchRow::p5_us,
                          &BenchRow::p95_us, &BenchRow::samples, &BenchRow::launches,
                          &BenchRow::of_copy>();
  }
  Flaw flaw() const;
};

/// "32x32768x7168", "32x32768x7168:one-hot", "...:half": experts, rows, columns, routing.
std::string bench_shape_text(const BenchShape& shape);
Result<BenchShape> parse_bench_shape(std::string_view text);

/// What a GPU measures: shapes of real layers, weights of 939 million elements, 1024 experts,
/// unequal routings, and an operand that fits any cache. A CPU gets shapes of a few million.
std::vector<BenchShape> default_bench_shapes(bool cpu);

/// Our recipes, defined by step_bench_request().
enum class StepBenchRecipe {
  Bf16,
  PerTensor,
  PerTensorFast,
  Delayed,
  Block,
  OwnBlock,        // Block with the products of our own kernels
  OwnBlockAddsDw,  // the same, and dW is added to FP32, as some peers always do
};
constexpr auto enum_names(StepBenchRecipe) {
  return std::to_array<std::string_view>({"bf16", "fp8-per-tensor", "fp8-per-tensor-fast",
                                          "fp8-delayed", "fp8-block", "fp8-block-expertscope",
                                          "fp8-block-expertscope-fp32-dw"});
}
/// Those of a suite, in the order of their rows.
std::span<const StepBenchRecipe> step_bench_recipes(StepKind step);

/// One step of the benchmark.
struct StepBenchCase {
  StepKind step = StepKind::Linear;
  StepBenchShape shape;
  RoutingDistribution routing = RoutingDistribution::Uniform;
};

/// The timed step: both passes, normally distributed operands, splits in multiples of 16 as FP8
/// products require. Per-tensor scales use current scaling unless they are delayed; their gradients
/// are E5M2 in a linear step and E4M3, all that the peer's products take, in a layer. A layer has
/// two micro-batches: the second keeps the weights that the first has quantized.
RunRequest step_bench_request(const StepBenchCase& of, StepBenchRecipe recipe);

enum class BenchPart {
  Fprop,  // a product alone, with quantized operands
  Dgrad,
  Wgrad,
  ForwardStep,  // quantization and products of a forward pass: of a linear step that has no other,
                // of a layer the first half of its step, which keeps what backward reads
  Step,         // both passes
  StepKeptWeights,  // both passes on weights that an earlier step has quantized
  Permutation,  // tokens to rows in the order of their experts and back, with the gradients of both
  // Both passes between tokens: Permutation is part of it. Of layers with top_k.
  StepFromTokens,
  StepFromTokensKeptWeights,
};
constexpr auto enum_names(BenchPart) {
  return std::to_array<std::string_view>({"fprop", "dgrad", "wgrad", "forward step", "step",
                                          "step, weights kept", "permutation", "step from tokens",
                                          "step from tokens, weights kept"});
}
constexpr bool permutes(BenchPart part) {
  return part == BenchPart::Permutation || part == BenchPart::StepFromTokens ||
         part == BenchPart::StepFromTokensKeptWeights;
}
constexpr bool keeps_weights(BenchPart part) {
  return part == BenchPart::StepKeptWeights || part == BenchPart::StepFromTokensKeptWeights;
}
/// The step that quantizes the weights which this part keeps.
constexpr BenchPart quantizing(BenchPart kept) {
  return permutes(kept) ? BenchPart::StepFromTokens : BenchPart::Step;
}
/// Useful FLOP of one launch, padding not counted; 0 where there are no products.
double bench_part_flop(BenchPart part, const StepBenchCase& of);

struct StepBenchRow {
  StepKind step = StepKind::Linear;
  ShapeSpec shape;
  RoutingDistribution routing = RoutingDistribution::Uniform;
  std::string subject;  // a recipe's name, or what a peer calls itself: "torch _grouped_mm"
  BenchPart part = BenchPart::Fprop;
  /// Experts of each token in a part that permutes: so many rows are its copies. 0 = it does not.
  int top_k = 0;
  double flop = 0;
  double median_us = 0, p5_us = 0, p95_us = 0;
  int samples = 0;
  /// For steps with recorded kernels: medians over recorded replays; 0 = not recorded. A replay
  /// spans its first kernel's start to its last one's end.
  double kernels_us = 0;  // the sum of its kernels' own times
  double replay_us = 0;
  /// Break-even count of a part that reuses weights: the number of micro-batches per quantization
  /// of the weights from which this recipe takes less time than BF16 (weight_reuse.h); 0 = never,
  /// -1 = not known.
  int beats_bf16_from = -1;
  std::string skipped = {};  // not empty: why there are no times
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&StepBenchRow::step>(),
                      engine::field<&StepBenchRow::shape>(),
                      engine::field<&StepBenchRow::routing>(),
                      engine::field<&StepBenchRow::subject>(),
                      engine::field<&StepBenchRow::part>(),
                      engine::field<&StepBenchRow::top_k>({.low = 0, .high = kMaxTopK}),
                      engine::field<&StepBenchRow::flop>(),
                      engine::field<&StepBenchRow::median_us>(),
                      engine::field<&StepBenchRow::p5_us>(),
                      engine::field<&StepBenchRow::p95_us>(),
                      engine::field<&StepBenchRow::samples>(),
                      engine::field<&StepBenchRow::kernels_us>(),
                      engine::field<&StepBenchRow::replay_us>(),
                      engine::field<&StepBenchRow::beats_bf16_from>(),
                      engine::field<&StepBenchRow::skipped>()};
  }
  Flaw flaw() const;
};

}  // namespace engine
