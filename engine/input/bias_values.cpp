#include "engine/input/bias_values.h"

#include "engine/input/synthetic.h"

namespace engine {

std::vector<float> bias_values(const RunRequest& request, int layer) {
  constexpr float kDeviation = 0.1F;
  // Gradients are layer 0 of their role; the layers after it are free.
  const auto source = make_synthetic_source({.input = {.element = ElementType::Fp32},
                                             .role = OperandRole::Gradients,
                                             .layer = layer + 1,
                                             .seed = request.seed,
                                             .rows = request.shape.num_experts,
                                             .columns = request.shape.n});
  std::vector<float> values(static_cast<std::size_t>(request.shape.num_experts * request.shape.n));
  source->read_f32(0, request.shape.num_experts, values);
  for (float& value : values) value *= kDeviation;
  return values;
}

}  // namespace engine
