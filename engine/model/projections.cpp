#include "engine/model/projections.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/model/run_result.h"

namespace engine {
namespace {

/// Any odd number: seeds of two experiments stay different.
constexpr std::uint64_t kDownSeed = 0x9E3779B97F4A7C15;

}  // namespace

std::int64_t activated_columns(const RunRequest& request) {
  return request.shape.n / traits_of(request.expert_layer.activation).halves();
}

RunRequest projection_of(const RunRequest& request, Projection projection) {
  RunRequest linear = request;
  linear.step = StepKind::Linear;
  linear.expert_layer = {};
  if (linear.linear.passes == StepPasses::Backward) {
    linear.linear.passes = StepPasses::ForwardBackward;
  }
  if (projection == Projection::Up) return linear;
  linear.shape.n = request.shape.k;
  linear.shape.k = activated_columns(request);
  linear.activations = {};
  linear.weights = request.expert_layer.down_weights;
  if (request.expert_layer.mixed_recipes) {
    linear.recipe.scaling = request.expert_layer.down_scaling;
  }
  linear.seed = request.seed ^ kDownSeed;
  return linear;
}

std::vector<StepPart> step_parts(const RunRequest& request) {
  if (!is_expert_layer(request)) return {{.request = request}};
  const int rows = std::max(request.expert_layer.top_k, 1);
  return {{.request = projection_of(request, Projection::Up),
           .made = {.gradients = true},
           .rows_per_token = rows},
          {.request = projection_of(request, Projection::Down),
           .made = {.activations = true},
           .rows_per_token = rows}};
}

LayerExtent extent_of(const RunRequest& request, LayerTensor tensor) {
  const std::int64_t n = request.shape.n;
  const std::int64_t k = request.shape.k;
  switch (tensor) {
    case LayerTensor::WUp:
    case LayerTensor::DWUp:
      return {.rows = n, .columns = k};
    case LayerTensor::WDown:
    case LayerTensor::DWDown:
      return {.rows = k, .columns = activated_columns(request)};
    case LayerTensor::H:
    case LayerTensor::DH:
      return {.routed = true, .columns = n};
    case LayerTensor::A:
    case LayerTensor::DA:
      return {.routed = true, .columns = activated_columns(request)};
    case LayerTensor::XTokens:
    case LayerTensor::YTokens:
    case LayerTensor::DYTokens:
    case LayerTensor::DXTokens:
      return {.rows = tokens_of(request), .columns = k};
    case LayerTensor::DProbabilities:
      return {.rows = tokens_of(request), .columns = request.expert_layer.top_k};
    case LayerTensor::X:
    case LayerTensor::Y:
    case LayerTensor::DY:
    case LayerTensor::DX:
      break;
  }
  return {.routed = true, .columns = k};
}

double flop_of_row(const RunRequest& request) {
  const StepPasses passes = request.linear.passes;
  const int products =
      (passes != StepPasses::Backward ? 1 : 0) + (passes != StepPasses::Forward ? 2 : 0);
  double flop = 0.0;
  for (const StepPart& part : step_parts(request)) {
    flop +=
        GroupedShape{.splits = {1}, .n = part.request.shape.n, .k = part.request.shape.k}.flop();
  }
  return flop * request.layers * products;
}

std::vector<LayerTensor> operands_of(const RunResult& result) {
  std::vector<LayerTensor> operands;
  for (std::size_t i = 0; i < kLayerTensors.size(); ++i) {
    const auto tensor = static_cast<LayerTensor>(i);
    const LayerTensorTraits& traits = traits_of(tensor);
    if (!traits.operand || (traits.backward && !result.backward)) continue;
    const bool linear =
        tensor == LayerTensor::X || tensor == LayerTensor::WUp || tensor == LayerTensor::DY;
    if (result.expert_layer || linear) operands.push_back(tensor);
  }
  return operands;
}

std::string_view tensor_symbol(StepKind step, LayerTensor tensor) {
  const bool weights = step == StepKind::Linear && tensor == LayerTensor::WUp;
  return weights ? std::string_view(LinearSymbols{}.w) : traits_of(tensor).symbol;
}

std::string layer_number(StepKind step, int linear_layer) {
  if (step == StepKind::Linear) return std::to_string(linear_layer);
  return fmt::format("{}, {}", linear_layer / 2,
                     projection_at(linear_layer) == Projection::Up ? "up" : "down");
}

std::string layer_words(StepKind step, int linear_layer) {
  return "layer " + layer_number(step, linear_layer);
}

std::string output_title(StepKind step, Product product, int linear_layer) {
  const bool linear = step == StepKind::Linear;
  const LinearSymbols symbols = linear                                          ? LinearSymbols{}
                                : projection_at(linear_layer) == Projection::Up ? kUpSymbols
                                                                                : kDownSymbols;
  const char* const symbol = product == Product::Fprop   ? symbols.y
                             : product == Product::Dgrad ? symbols.dx
                                                         : symbols.dw;
  return fmt::format("{}, layer {}", symbol, linear ? linear_layer : linear_layer / 2);
}

}  // namespace engine
