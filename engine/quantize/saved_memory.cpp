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

std::int64_t copy_bytes(const Recipe& recipe, kernels::Direction direction,
                        const CopyExtent& extent) {
  const RecipeTraits& traits = traits_of(recipe);
  const std::int64_t rows = rows_of(extent.splits);
  if (!traits.quantizes()) return rows * extent.columns * element_bytes(recipe.high_precision);
  const int groups = static_cast<int>(extent.splits.size());
  const OperandLayout layout =
      operand_layout(recipe, extent.role, direction,
                     {.capacity_rows = rows, .num_groups = groups, .columns = extent.columns});
  const std::int64_t amax = traits.expert_amax() ? groups * std::int64_t{sizeof(float)} : 0;
  return written_code_bytes(layout, extent.splits, extent.columns) +
         written_scale_bytes(layout, extent.splits, extent.columns) + amax;
}

std::vector<SavedTensor> saved_for_backward(const RunRequest& request,
                                            std::span<const std::int64_t> splits) {
  if (request.linear.passes == StepPasses::Forward) return {};
  const RunRequest up = projection_of(request, Projection::Up);
  std::vector<SavedTensor> saved = {
      {.tensor = LayerTensor::X, .bytes = activation_bytes(up, splits)},
      {.tensor = LayerTensor::WUp, .bytes = weight_bytes(up, splits.size())}};
  if (!is_expert_layer(request)) return saved;
  const RunRequest down = projection_of(request, Projection::Down);
  saved.push_back(
      {.tensor = LayerTensor::H,
       .bytes = rows_of(splits) * request.shape.n * element_bytes(request.recipe.high_precision)});
  saved.push_back(
      {.tensor = LayerTensor::A,
       .bytes = request.expert_layer.recompute_activation ? 0 : activation_bytes(down, splits)});
  saved.push_back({.tensor = LayerTensor::WDown, .bytes = weight_bytes(down, splits.size())});
  return saved;
}

}  // namespace engine
