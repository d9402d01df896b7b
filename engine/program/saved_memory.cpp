#include "engine/program/saved_memory.h"

#include "engine/program/lives.h"
#include "engine/program/work.h"

namespace engine {

std::vector<SavedTensor> saved_for_backward(const RunRequest& request,
                                            std::span<const std::int64_t> splits) {
  if (request.products.passes == StepPasses::Forward) return {};
  const StepProgram program = program_of(request);
  std::vector<SavedTensor> saved;
  for (std::size_t i = 0; i < kStepTensors.size(); ++i) {
    const auto tensor = static_cast<StepTensor>(i);
    const StepTensorTraits& traits = traits_of(tensor);
    if (traits.backward || !traits.reported || !has_tensor(request, tensor)) continue;
    const std::optional<TensorOperand> operand = operand_of(request.step, tensor);
    const bool weights = operand && operand->role == OperandRole::Weights;
    SavedTensor one{.tensor = tensor};
    bool any = operand.has_value();
    for (const ValueForm form : {ValueForm::Elements, ValueForm::Rowwise, ValueForm::Columnwise}) {
      const Value value{.tensor = tensor, .form = form};
      if (!is_saved(program, value)) continue;
      any = true;
      // Unquantized weights are there anyway.
      if (!weights || form != ValueForm::Elements) one.bytes += value_bytes(request, value, splits);
    }
    if (any) saved.push_back(one);
  }
  return saved;
}

}  // namespace engine
