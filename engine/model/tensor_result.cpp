#include "engine/model/tensor_result.h"

#include <algorithm>

#include "engine/model/run_result.h"

namespace engine {

const TensorResult* find_tensor(const RunResult& result, StepTensor tensor) {
  const auto found = std::ranges::find(result.tensors, tensor, &TensorResult::tensor);
  return found == result.tensors.end() ? nullptr : &*found;
}

TensorResult& tensor_row(RunResult& result, StepTensor tensor) {
  const auto place = std::ranges::lower_bound(result.tensors, tensor, {}, &TensorResult::tensor);
  if (place != result.tensors.end() && place->tensor == tensor) return *place;
  return *result.tensors.insert(place, TensorResult{.tensor = tensor});
}

std::vector<StepTensor> operands_of(const RunResult& result) {
  std::vector<StepTensor> operands;
  for (const TensorResult& row : result.tensors) {
    if (row.quantization) operands.push_back(row.tensor);
  }
  return operands;
}

const OperandStatistics* statistics_of(const RunResult& result, StepTensor tensor) {
  const TensorResult* const row = find_tensor(result, tensor);
  return row != nullptr && row->quantization ? &*row->quantization : nullptr;
}

}  // namespace engine
