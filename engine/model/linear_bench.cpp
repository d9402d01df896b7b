#include "engine/model/linear_bench.h"

namespace engine {
namespace {

constexpr std::int64_t kSplitAlignment = 16;

}  // namespace

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
  request.routing = {.distribution = routing, .path = {}, .alignment = kSplitAlignment};
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

}  // namespace engine
