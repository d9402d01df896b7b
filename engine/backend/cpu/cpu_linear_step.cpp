#include "engine/backend/cpu/cpu_linear_step.h"

#include "engine/model/recipe_traits.h"

namespace engine {

CpuLinearStep::CpuLinearStep(const CpuProjection::Setup& setup, StepProgress& progress)
    : ProgramStep(program_of(setup.request), progress), progress_(progress), projection_(setup) {}

void CpuLinearStep::set_splits(const std::vector<std::int64_t>& splits, std::size_t /*step*/) {
  projection_.set_splits(splits);
}

void CpuLinearStep::run_expert(int expert) {
  if (projection_.runs_backward()) projection_.clear_weight_gradient(0, expert);
  run_first_layer(expert);
  if (projection_.runs_forward()) return;
  // No product of this step reads these: they are for the operands' statistics.
  const RecipeTraits& traits = traits_of(program().request.recipe);
  for (int cast = 0; traits.quantizes() && cast < traits.warm_up_steps(); ++cast) {
    for (const OperandRole role : {OperandRole::Weights, OperandRole::Activations}) {
      projection_.quantize(role, kernels::Direction::Rowwise, 0, expert);
    }
  }
}

}  // namespace engine
