#include "engine/quantize/layer_tensors.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/model/projections.h"
#include "engine/quantize/operand_layout.h"
#include "engine/quantize/saved_memory.h"

namespace engine {
namespace {

/// An operand's projection and role; of other tensors nothing.
struct OperandOf {
  Projection projection;
  OperandRole role;
};
std::optional<OperandOf> operand_of(LayerTensor tensor) {
  switch (tensor) {
    case LayerTensor::X:
      return OperandOf{Projection::Up, OperandRole::Activations};
    case LayerTensor::WUp:
      return OperandOf{Projection::Up, OperandRole::Weights};
    case LayerTensor::A:
      return OperandOf{Projection::Down, OperandRole::Activations};
    case LayerTensor::WDown:
      return OperandOf{Projection::Down, OperandRole::Weights};
    case LayerTensor::DY:
      return OperandOf{Projection::Down, OperandRole::Gradients};
    case LayerTensor::DH:
      return OperandOf{Projection::Up, OperandRole::Gradients};
    default:
      return std::nullopt;
  }
}

/// Rows of every expert, and columns.
struct Extent {
  std::vector<std::int64_t> rows;
  std::int64_t columns = 0;
};
Extent extent_of(const RunRequest& request, LayerTensor tensor,
                 std::span<const std::int64_t> splits) {
  const std::vector<std::int64_t> routed(splits.begin(), splits.end());
  const auto every = [&](std::int64_t rows) {
    return std::vector<std::int64_t>(splits.size(), rows);
  };
  switch (tensor) {
    case LayerTensor::WUp:
    case LayerTensor::DWUp:
      return {every(request.shape.n), request.shape.k};
    case LayerTensor::WDown:
    case LayerTensor::DWDown:
      return {every(request.shape.k), activated_columns(request)};
    case LayerTensor::H:
    case LayerTensor::DH:
      return {routed, request.shape.n};
    case LayerTensor::A:
    case LayerTensor::DA:
      return {routed, activated_columns(request)};
    default:
      return {routed, request.shape.k};
  }
}

}  // namespace

std::vector<LayerTensorResult> layer_tensors(const RunRequest& request,
                                             std::span<const std::int64_t> splits) {
  const std::vector<SavedTensor> saved = saved_for_backward(request, splits);
  const bool forward = request.linear.passes != StepPasses::Backward;
  const bool backward = request.linear.passes != StepPasses::Forward;
  std::vector<LayerTensorResult> tensors;
  for (std::size_t i = 0; i < kLayerTensors.size(); ++i) {
    const auto tensor = static_cast<LayerTensor>(i);
    if (traits_of(tensor).backward ? !backward : tensor == LayerTensor::Y && !forward) continue;
    const Extent extent = extent_of(request, tensor, splits);
    LayerTensorResult& one = tensors.emplace_back();
    one.tensor = tensor;
    one.rows = std::accumulate(extent.rows.begin(), extent.rows.end(), std::int64_t{0});
    one.columns = extent.columns;
    const bool weight_gradient = tensor == LayerTensor::DWUp || tensor == LayerTensor::DWDown;
    if (const std::optional<OperandOf> operand = operand_of(tensor)) {
      one.bytes = copy_bytes(
          projection_of(request, operand->projection).recipe, kernels::Direction::Rowwise,
          {.role = operand->role, .splits = extent.rows, .columns = extent.columns});
    } else {
      one.bytes = one.rows * one.columns *
                  element_bytes(weight_gradient ? request.linear.wgrad_type
                                                : request.recipe.high_precision);
    }
    const auto kept = std::ranges::find(saved, tensor, &SavedTensor::tensor);
    if (kept != saved.end()) one.saved_bytes = kept->bytes;
  }
  return tensors;
}

}  // namespace engine
