#include "engine/program/tensor_results.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/model/projections.h"
#include "engine/program/saved_memory.h"
#include "engine/program/work.h"

namespace engine {

std::vector<TensorResult> tensor_results(const RunRequest& request,
                                         std::span<const std::int64_t> splits) {
  const std::vector<SavedTensor> saved = saved_for_backward(request, splits);
  const bool forward = request.products.passes != StepPasses::Backward;
  std::vector<TensorResult> tensors;
  for (std::size_t i = 0; i < kStepTensors.size(); ++i) {
    const auto tensor = static_cast<StepTensor>(i);
    const StepTensorTraits& traits = traits_of(tensor);
    if (!traits.reported || !has_tensor(request, tensor)) continue;
    const bool of_forward_alone = traits.output && !traits.backward;
    if (of_forward_alone && !forward) continue;
    TensorResult& one = tensors.emplace_back();
    one.tensor = tensor;
    one.columns = extent_of(request, tensor).columns;
    one.rows = one.columns == 0 ? 0 : total_rows(request, tensor, splits);
    // As its product reads it, or as it is written.
    const bool operand = operand_of(request.step, tensor).has_value();
    one.bytes = value_bytes(
        request, {.tensor = tensor, .form = operand ? ValueForm::Rowwise : ValueForm::Elements},
        splits);
    const auto kept = std::ranges::find(saved, tensor, &SavedTensor::tensor);
    if (kept != saved.end()) one.saved_bytes = kept->bytes;
  }
  return tensors;
}

}  // namespace engine
