#include "engine/quantize/layer_tensors.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "engine/model/projections.h"
#include "engine/quantize/operand_layout.h"
#include "engine/quantize/saved_memory.h"

namespace engine {

std::vector<LayerTensorResult> layer_tensors(const RunRequest& request,
                                             std::span<const std::int64_t> splits) {
  const std::vector<SavedTensor> saved = saved_for_backward(request, splits);
  const bool forward = request.linear.passes != StepPasses::Backward;
  const bool backward = request.linear.passes != StepPasses::Forward;
  std::vector<LayerTensorResult> tensors;
  for (std::size_t i = 0; i < kLayerTensors.size(); ++i) {
    const auto tensor = static_cast<LayerTensor>(i);
    if (traits_of(tensor).backward ? !backward : tensor == LayerTensor::Y && !forward) continue;
    if (traits_of(tensor).tokens && request.expert_layer.top_k == 0) continue;
    if (tensor == LayerTensor::YTokens && !forward) continue;
    const LayerExtent extent = extent_of(request, tensor);
    std::vector<std::int64_t> rows;
    for (const std::int64_t split : splits) rows.push_back(extent.rows_of(split));
    if (traits_of(tensor).tokens) rows.assign(1, extent.rows);
    LayerTensorResult& one = tensors.emplace_back();
    one.tensor = tensor;
    one.rows = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
    one.columns = extent.columns;
    const bool weight_gradient = tensor == LayerTensor::DWUp || tensor == LayerTensor::DWDown;
    if (const std::optional<LayerOperand>& operand = traits_of(tensor).operand) {
      one.bytes = copy_bytes(projection_of(request, operand->projection).recipe,
                             kernels::Direction::Rowwise,
                             {.role = operand->role, .splits = rows, .columns = extent.columns});
    } else {
      one.bytes =
          one.rows * one.columns *
          element_bytes(weight_gradient                         ? request.linear.wgrad_type
                        : tensor == LayerTensor::DProbabilities ? ElementType::Fp32
                                                                : request.recipe.high_precision);
    }
    const auto kept = std::ranges::find(saved, tensor, &SavedTensor::tensor);
    if (kept != saved.end()) one.saved_bytes = kept->bytes;
  }
  return tensors;
}

}  // namespace engine
