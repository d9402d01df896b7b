// Which tensors a configuration requires; engine/model/caller_tensor compares them.
#include "engine/linear/step_tensors.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "engine/device/check.h"

namespace engine {
namespace {

/// The tensor's actual device, regardless of the caller's claim.
Status locate(CallerTensor& tensor) {
  if (tensor.values == nullptr) return {};
  cudaPointerAttributes attributes = {};
  ENGINE_CUDA_TRY(cudaPointerGetAttributes(&attributes, tensor.values), "Locating a tensor");
  const bool reachable =
      attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  tensor.device = reachable ? attributes.device : kHostMemory;
  return {};
}

Result<int> current_device() {
  int device = 0;
  ENGINE_CUDA_TRY(cudaGetDevice(&device), "Asking for the current device");
  return device;
}

/// The scales that products of micro blocks read are swizzled; others have one form.
ScaleForm scale_form(const StepConfig& config) {
  const bool micro = traits_of(config.recipe).micro();
  return micro && config.scaled_products() ? ScaleForm::Swizzled : ScaleForm::RowMajor;
}

/// A list of what lies in one tensor.
std::vector<ListedWeight> views(const StepConfig& config, const void* grouped) {
  std::vector<ListedWeight> weights;
  const auto* const first = static_cast<const std::byte*>(grouped);
  for (int group = 0; group < config.num_groups(); ++group) {
    weights.push_back(
        listed_weight(config, first + group * config.operand_bytes() * config.n() * config.k()));
  }
  return weights;
}

}  // namespace

ListedWeight listed_weight(const StepConfig& config, const void* values) {
  // The step only reads it; CallerTensor is not const.
  return {.tensor = {.values = const_cast<void*>(values),
                     .type = config.recipe.high_precision,
                     .rows = config.n(),
                     .columns = config.k()},
          .recipe = config.recipe,
          .scale_form = scale_form(config)};
}

Result<std::vector<std::vector<ListedWeight>>> weight_lists(const StepConfig& config,
                                                            const StepOperands& operands) {
  std::vector<std::vector<ListedWeight>> lists;
  if (!config.list()) return lists;
  ENGINE_ASSIGN(const int device, current_device());
  for (int layer = 0; layer < config.layers; ++layer) {
    const auto index = static_cast<std::size_t>(layer);
    std::vector<ListedWeight> list = operands.weight_lists.empty()
                                         ? views(config, operands.weights[index])
                                         : operands.weight_lists[index];
    for (ListedWeight& weight : list) ENGINE_TRY(locate(weight.tensor));
    ENGINE_TRY(check_weight_list({.layer = layer,
                                  .num_groups = config.num_groups(),
                                  .n = config.n(),
                                  .k = config.k(),
                                  .recipe = config.recipe,
                                  .scale_form = scale_form(config),
                                  .device = device},
                                 list));
    lists.push_back(std::move(list));
  }
  return lists;
}

Result<std::vector<LayerOutputs>> caller_outputs(const StepConfig& config,
                                                 std::vector<CallerOutputs> outputs) {
  ENGINE_ASSIGN(const int device, current_device());
  for (CallerOutputs& layer : outputs) {
    for (std::optional<CallerTensor>* tensor :
         {&layer.y, &layer.dx, &layer.dw, &layer.bias_gradient}) {
      if (*tensor) ENGINE_TRY(locate(**tensor));
    }
  }
  return take_outputs({.layers = config.layers,
                       .num_groups = config.num_groups(),
                       .capacity_rows = config.capacity_rows(),
                       .n = config.n(),
                       .k = config.k(),
                       .type = config.output_type(),
                       .wgrad_type = config.wgrad_type(),
                       .bias_type = config.recipe.high_precision,
                       .forward = config.forward(),
                       .backward = config.backward(),
                       .bias = config.products.bias,
                       .device = device},
                      outputs);
}

}  // namespace engine
