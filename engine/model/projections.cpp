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
  if (linear.products.passes == StepPasses::Backward) {
    linear.products.passes = StepPasses::ForwardBackward;
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

namespace {

std::int64_t length_of(const RunRequest& request, TensorSide side) {
  switch (side) {
    case TensorSide::Routed:
      break;
    case TensorSide::One:
      return 1;
    case TensorSide::N:
      return request.shape.n;
    case TensorSide::K:
      return request.shape.k;
    case TensorSide::Activated:
      return activated_columns(request);
    case TensorSide::Tokens:
      return tokens_of(request);
    case TensorSide::TopK:
      return request.expert_layer.top_k;
  }
  return 0;
}

}  // namespace

TensorExtent extent_of(const RunRequest& request, StepTensor tensor) {
  const StepTensorTraits& traits = traits_of(tensor);
  const TensorSide columns =
      is_expert_layer(request) ? traits.columns : traits.linear_columns.value_or(traits.columns);
  return {.routed = traits.rows == TensorSide::Routed,
          .rows = length_of(request, traits.rows),
          .columns = length_of(request, columns)};
}

std::int64_t total_rows(const RunRequest& request, StepTensor tensor,
                        std::span<const std::int64_t> splits) {
  const TensorExtent extent = extent_of(request, tensor);
  if (traits_of(tensor).tokens()) return extent.rows;
  std::int64_t rows = 0;
  for (const std::int64_t split : splits) rows += extent.rows_of(split);
  return rows;
}

std::optional<ElementType> element_of(const RunRequest& request, StepTensor tensor) {
  switch (traits_of(tensor).element) {
    case ElementRule::HighPrecision:
      return request.recipe.high_precision;
    case ElementRule::WeightGradient:
      return request.products.wgrad_type;
    case ElementRule::Fp32:
      return ElementType::Fp32;
    case ElementRule::Int32:
      break;
  }
  return {};
}

std::int64_t element_bytes(const RunRequest& request, StepTensor tensor) {
  const std::optional<ElementType> element = element_of(request, tensor);
  return element ? element_bytes(*element) : std::int64_t{sizeof(std::int32_t)};
}

bool has_tensor(const RunRequest& request, StepTensor tensor) {
  const StepTensorTraits& traits = traits_of(tensor);
  if (traits.backward && request.products.passes == StepPasses::Forward) return false;
  switch (traits.present) {
    case TensorPresence::Always:
      return true;
    case TensorPresence::Layer:
      return is_expert_layer(request);
    case TensorPresence::Bias:
      return request.products.bias;
    case TensorPresence::LayerBias:
      return is_expert_layer(request) && request.products.bias;
    case TensorPresence::Tokens:
      return tokens_of(request) > 0;
  }
  return false;
}

double flop_of_row(const RunRequest& request) {
  const StepPasses passes = request.products.passes;
  const int products =
      (passes != StepPasses::Backward ? 1 : 0) + (passes != StepPasses::Forward ? 2 : 0);
  double flop = 0.0;
  for (const StepPart& part : step_parts(request)) {
    flop +=
        GroupedShape{.splits = {1}, .n = part.request.shape.n, .k = part.request.shape.k}.flop();
  }
  return flop * request.layers * products;
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
  const LinearSymbols symbols =
      symbols_of(step, linear ? Projection::Up : projection_at(linear_layer));
  const char* const symbol = product == Product::Fprop   ? symbols.y
                             : product == Product::Dgrad ? symbols.dx
                                                         : symbols.dw;
  return fmt::format("{}, layer {}", symbol, linear ? linear_layer : linear_layer / 2);
}

}  // namespace engine
