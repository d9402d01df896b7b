#include "engine/model/linear_bench.h"

#include <fmt/format.h>

#include <array>

namespace engine {
namespace {

constexpr std::int64_t kAlignment = 16;

constexpr std::array<std::string_view, 7> kRoutingNames = {"uniform", "mild",       "zipf", "heavy",
                                                           "one-hot", "half-empty", "file"};
constexpr std::array<std::string_view, kLinearParts> kPartNames = {"fprop",
                                                                   "dgrad",
                                                                   "wgrad",
                                                                   "forward step",
                                                                   "step",
                                                                   "setup",
                                                                   "forward step, programmatic",
                                                                   "step, programmatic"};

Error refused(std::string sentence) { return {ErrorCode::InvalidArgument, std::move(sentence)}; }

}  // namespace

std::string_view routing_name(RoutingDistribution routing) {
  return kRoutingNames[static_cast<std::size_t>(routing)];
}

std::string_view linear_part_name(LinearPart part) {
  return kPartNames[static_cast<std::size_t>(part)];
}

std::string_view linear_bench_recipe_name(LinearBenchRecipe recipe) {
  switch (recipe) {
    case LinearBenchRecipe::Bf16:
      return "bf16";
    case LinearBenchRecipe::PerTensor:
      return "fp8-per-tensor";
    case LinearBenchRecipe::PerTensorFast:
      return "fp8-per-tensor-fast";
    case LinearBenchRecipe::Block:
      break;
  }
  return "fp8-block";
}

RunRequest linear_bench_request(const ShapeSpec& shape, RoutingDistribution routing,
                                LinearBenchRecipe recipe) {
  RunRequest request;
  request.shape = shape;
  request.routing = {.distribution = routing, .path = {}, .alignment = kAlignment};
  request.linear.passes = StepPasses::ForwardBackward;
  switch (recipe) {
    case LinearBenchRecipe::Bf16:
      request.recipe.scaling = Scaling::None;
      break;
    case LinearBenchRecipe::PerTensor:
    case LinearBenchRecipe::PerTensorFast:
      request.recipe.scaling = Scaling::PerTensorCurrent;
      request.recipe.gradient_format = Fp8Format::E5m2;
      request.recipe.split_accumulator = recipe == LinearBenchRecipe::PerTensor;
      break;
    case LinearBenchRecipe::Block:
      request.recipe.scaling = Scaling::Block;
      break;
  }
  return request;
}

double linear_part_flop(LinearPart part, const ShapeSpec& shape) {
  const double product = 2.0 * static_cast<double>(shape.tokens) * static_cast<double>(shape.n) *
                         static_cast<double>(shape.k);
  switch (part) {
    case LinearPart::Fprop:
    case LinearPart::Dgrad:
    case LinearPart::Wgrad:
    case LinearPart::ForwardStep:
    case LinearPart::ForwardStepProgrammatic:
      return product;
    case LinearPart::Step:
    case LinearPart::StepProgrammatic:
      return 3 * product;
    case LinearPart::Setup:
      break;
  }
  return 0;
}

Status validate(const LinearBenchOrder& order) {
  if (order.shapes.empty() || order.routings.empty()) {
    return refused("the benchmark of the linear step needs a shape and a routing at least");
  }
  if (order.shapes.size() * order.routings.size() > kMaxLinearBenchShapes) {
    return refused(fmt::format("{} shapes with {} routings each: a benchmark takes {} of both",
                               order.shapes.size(), order.routings.size(), kMaxLinearBenchShapes));
  }
  for (const RoutingDistribution routing : order.routings) {
    if (routing == RoutingDistribution::File) {
      return refused("a benchmark routes by a rule; splits from a file are for a run");
    }
    for (const ShapeSpec& shape : order.shapes) {
      if (shape.tokens == 0) return refused("a shape without tokens has nothing to time");
      const RunRequest request = linear_bench_request(shape, routing, LinearBenchRecipe::Block);
      if (Status limits = validate(request); !limits.ok()) return limits;
    }
  }
  return {};
}

}  // namespace engine
