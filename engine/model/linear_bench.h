// The request of the grouped linear step's benchmark, and its rows. Plain values, no CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"
#include "engine/model/shape.h"

namespace engine {

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
    return std::array{engine::field<&LinearBenchOrder::shapes>("shapes"),
                      engine::field<&LinearBenchOrder::routings>("routings"),
                      engine::field<&LinearBenchOrder::peer>("peer")};
  }
};

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
    return std::array{engine::field<&LinearBenchRow::shape>("shape"),
                      engine::field<&LinearBenchRow::routing>("routing"),
                      engine::field<&LinearBenchRow::subject>("subject"),
                      engine::field<&LinearBenchRow::part>("part"),
                      engine::field<&LinearBenchRow::flop>("flop"),
                      engine::field<&LinearBenchRow::median_us>("median_us"),
                      engine::field<&LinearBenchRow::p5_us>("p5_us"),
                      engine::field<&LinearBenchRow::p95_us>("p95_us"),
                      engine::field<&LinearBenchRow::samples>("samples"),
                      engine::field<&LinearBenchRow::kernels_us>("kernels_us"),
                      engine::field<&LinearBenchRow::replay_us>("replay_us"),
                      engine::field<&LinearBenchRow::skipped>("skipped")};
  }
  Flaw flaw() const;
};

}  // namespace engine
