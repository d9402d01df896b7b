// The requests of the two benchmarks, of the quantize kernels and of the grouped linear step, and
// their result rows. Plain values, no CUDA.
#pragma once

#include <cstdint>
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

inline constexpr std::size_t kMaxLinearBenchShapes = 64;

/// Every shape is measured with every routing, at most kMaxLinearBenchShapes of both; no routing
/// from a file, no shape without tokens.
struct LinearBenchOrder {
  std::vector<ShapeSpec> shapes = {};
  std::vector<RoutingDistribution> routings = {RoutingDistribution::Uniform,
                                               RoutingDistribution::Zipf};
  /// Command line, on the worker's machine, of a program whose products are interleaved with ours
  /// (protocol in app/worker/peer_process.h); empty = none.
  std::vector<std::string> peer = {};
  bool operator==(const LinearBenchOrder&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&LinearBenchOrder::shapes, &LinearBenchOrder::routings,
                          &LinearBenchOrder::peer>();
  }
};

enum class BenchSuite {
  Quantize,  // kernels, each alone
  Linear,    // the grouped step and its products
};
constexpr auto enum_names(BenchSuite) {
  return std::to_array<std::string_view>({"quantize", "linear"});
}

inline constexpr std::size_t kMaxBenchShapes = 64;
inline constexpr double kMaxBenchSeconds = 600;

struct BenchOrder {
  BenchSuite suite = BenchSuite::Quantize;
  bool cpu = false;                     // the CPU twins, even where there is a device
  std::vector<BenchShape> shapes = {};  // empty = default_bench_shapes() of what it runs on
  double seconds = 2;                   // per shape; at least a few rounds always run
  LinearBenchOrder linear = {};         // of BenchSuite::Linear, which has its own shapes
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&BenchOrder::suite>(), engine::field<&BenchOrder::cpu>(),
                      engine::field<&BenchOrder::shapes>({.most = kMaxBenchShapes}),
                      engine::field<&BenchOrder::seconds>({.low = 0, .high = kMaxBenchSeconds}),
                      engine::field<&BenchOrder::linear>()};
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

/// Our recipes, defined by linear_bench_request().
enum class LinearBenchRecipe { Bf16, PerTensor, PerTensorFast, Block };
inline constexpr LinearBenchRecipe kLinearBenchRecipes[] = {
    LinearBenchRecipe::Bf16, LinearBenchRecipe::PerTensor, LinearBenchRecipe::PerTensorFast,
    LinearBenchRecipe::Block};
/// "bf16", "fp8-per-tensor", "fp8-per-tensor-fast", "fp8-block".
std::string_view linear_bench_recipe_name(LinearBenchRecipe recipe);

/// The timed step: both passes, normally distributed operands, splits in multiples of 16 as FP8
/// products require. Per-tensor scales use current scaling, gradients E5M2.
RunRequest linear_bench_request(const ShapeSpec& shape, RoutingDistribution routing,
                                LinearBenchRecipe recipe);

enum class LinearPart {
  Fprop,  // a product alone, with quantized operands
  Dgrad,
  Wgrad,
  ForwardStep,  // quantization and fprop
  Step,         // both passes
  Setup,        // offsets and pointer arrays at the head of a step with both passes
  // The same two steps, our kernels launched with programmatic stream serialization. Devices only.
  ForwardStepProgrammatic,
  StepProgrammatic,
};
constexpr auto enum_names(LinearPart) {
  return std::to_array<std::string_view>({"fprop", "dgrad", "wgrad", "forward step", "step",
                                          "setup", "forward step, programmatic",
                                          "step, programmatic"});
}
inline constexpr int kLinearParts = static_cast<int>(enum_names(LinearPart{}).size());
/// Useful FLOP of one launch, padding not counted; 0 for Setup.
double linear_part_flop(LinearPart part, const ShapeSpec& shape);

struct LinearBenchRow {
  ShapeSpec shape;
  RoutingDistribution routing = RoutingDistribution::Uniform;
  std::string subject;  // a recipe's name, or what a peer calls itself: "torch _grouped_mm"
  LinearPart part = LinearPart::Fprop;
  double flop = 0;
  double median_us = 0, p5_us = 0, p95_us = 0;
  int samples = 0;
  /// For steps with recorded kernels: medians over recorded replays; 0 = not recorded. A replay
  /// spans its first kernel's start to its last one's end.
  double kernels_us = 0;  // the sum of its kernels' own times
  double replay_us = 0;
  std::string skipped = {};  // not empty: why there are no times
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<
        &LinearBenchRow::shape, &LinearBenchRow::routing, &LinearBenchRow::subject,
        &LinearBenchRow::part, &LinearBenchRow::flop, &LinearBenchRow::median_us,
        &LinearBenchRow::p5_us, &LinearBenchRow::p95_us, &LinearBenchRow::samples,
        &LinearBenchRow::kernels_us, &LinearBenchRow::replay_us, &LinearBenchRow::skipped>();
  }
  Flaw flaw() const;
};

}  // namespace engine
