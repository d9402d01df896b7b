#include "engine/quantize/saved_memory.h"

#include <numeric>

#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"
#include "engine/quantize/operand_layout.h"

namespace engine {
namespace {

std::int64_t rows_of(std::span<const std::int64_t> splits) {
  return std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
}

/// The columnwise copy of what a projection reads.
std::int64_t activation_bytes(const RunRequest& projection, std::span<const std::int64_t> splits) {
  return copy_bytes(
      projection.recipe, kernels::Direction::Columnwise,
      {.role = OperandRole::Activations, .splits = splits, .columns = projection.shape.k});
}

std::int64_t weight_bytes(const RunRequest& projection, std::size_t experts) {
  if (!traits_of(projection.recipe).quantizes()) return 0;
  const std::vector<std::int64_t> rows(experts, projection.shape.n);
  return copy_bytes(projection.recipe, kernels::Direction::Columnwise,
                    {.role = OperandRole::Weights, .splits = rows, .columns = projection.shape.k});
}

}  // namespace

std::vector<SavedTensor> saved_for_backward(const RunRequest& request,
                                            std::span<const std::int64_t> splits) {
  if (request.linear.passes == StepPasses::Forward) return {};
  const RunRequest up = projection_of(request, Projection::Up);
  std::vector<SavedTensor> saved = {
      {.tensor = LayerTensor::X, .bytes = activation_bytes(up, splits)},
      {.tensor = LayerTensor::WUp, .bytes = weight_bytes(up, splits.size())}};
  if (!is_expert_layer(request)) return saved;
  const RunRequest down = projection_of(request, Projection::Down);
  const std::int64_t columns_bytes =
      rows_of(splits) * element_bytes(request.recipe.high_precision);  // of high precision
  saved.push_back({.tensor = LayerTensor::H, .bytes = columns_bytes * request.shape.n});
  saved.push_back(
      {.tensor = LayerTensor::A,
       .bytes = request.expert_layer.recompute_activation ? 0 : activation_bytes(down, splits)});
  saved.push_back({.tensor = LayerTensor::WDown, .bytes = weight_bytes(down, splits.size())});
  if (request.expert_layer.top_k > 0) {
    saved.push_back({.tensor = LayerTensor::Y, .bytes = columns_bytes * request.shape.k});
  }
  return saved;
}

}  // namespace engine
