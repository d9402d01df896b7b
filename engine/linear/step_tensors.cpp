// Which tensors a configuration demands. What is compared is engine/model/caller_tensor's.
#include "engine/linear/step_tensors.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <utility>

#include "engine/device/check.h"

namespace engine {
namespace {

/// Where the tensor really lies, whatever the caller says.
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
  const bool micro =
      config.recipe.scaling == Scaling::Mxfp8 || config.recipe.scaling == Scaling::Nvfp4;
  return micro && config.scaled_products() ? ScaleForm::Swizzled : ScaleForm::RowMajor;
}

/// A list of what lies in one tensor.
std::vector<ListedWeight> views(const StepConfig& config, const void* grouped) {
  std::vector<ListedWeight> weights;
  const auto* const first = static_cast<const std::byte*>(grouped);
  for (int group = 0; group < config.num_groups; ++group) {
    weights.push_back(
        listed_weight(config, first + group * kHighPrecisionBytes * config.n * config.k));
  }
  return weights;
}

class OutputTaker {
 public:
  OutputTaker(std::size_t layer, int device) : layer_(layer), device_(device) {}

  /// `demand.name` is the output's; the layer is added. `written`: whether the step writes it.
  Status take(const std::optional<CallerTensor>& given, OutputDemand demand, bool written,
              void*& target) const {
    if (!given) return {};
    demand.name = fmt::format("{}, layer {}", demand.name, layer_);
    if (!written) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{}: a tensor was given and this step does not write it; leave it "
                               "out, or choose the passes and the bias that write it",
                               demand.name)};
    }
    demand.device = device_;
    CallerTensor tensor = *given;
    ENGINE_TRY(locate(tensor));
    ENGINE_TRY(check_output(demand, tensor));
    target = tensor.values;
    return {};
  }

 private:
  std::size_t layer_;
  int device_;
};

}  // namespace

ListedWeight listed_weight(const StepConfig& config, const void* values) {
  // The step only reads it; a caller's tensor just does not say so.
  return {.tensor = {.values = const_cast<void*>(values),
                     .type = config.recipe.high_precision,
                     .rows = config.n,
                     .columns = config.k},
          .recipe = config.recipe,
          .scale_form = scale_form(config)};
}

Result<std::vector<std::vector<ListedWeight>>> weight_lists(const StepConfig& config,
                                                            const StepOperands& operands) {
  std::vector<std::vector<ListedWeight>> lists;
  if (!config.list()) return lists;
  const Result<int> device = current_device();
  if (!device.ok()) return device.error();
  for (int layer = 0; layer < config.layers; ++layer) {
    const auto index = static_cast<std::size_t>(layer);
    std::vector<ListedWeight> list = operands.weight_lists.empty()
                                         ? views(config, operands.weights[index])
                                         : operands.weight_lists[index];
    for (ListedWeight& weight : list) ENGINE_TRY(locate(weight.tensor));
    ENGINE_TRY(check_weight_list({.layer = layer,
                                  .num_groups = config.num_groups,
                                  .n = config.n,
                                  .k = config.k,
                                  .recipe = config.recipe,
                                  .scale_form = scale_form(config),
                                  .device = device.value()},
                                 list));
    lists.push_back(std::move(list));
  }
  return lists;
}

Result<std::vector<LayerOutputs>> caller_outputs(const StepConfig& config,
                                                 const std::vector<CallerOutputs>& outputs) {
  const auto layers = static_cast<std::size_t>(config.layers);
  if (!outputs.empty() && outputs.size() != layers) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("Outputs of {} layers were given and the step has {}; give one entry "
                             "a layer, or none",
                             outputs.size(), layers)};
  }
  const Result<int> device = current_device();
  if (!device.ok()) return device.error();
  std::vector<LayerOutputs> taken(layers);
  for (std::size_t layer = 0; layer < outputs.size(); ++layer) {
    const CallerOutputs& given = outputs[layer];
    const OutputTaker taker(layer, device.value());
    const ElementType type = config.output_type();
    ENGINE_TRY(taker.take(
        given.y, {.name = "Y", .type = type, .rows = config.capacity_rows, .columns = config.n},
        config.forward(), taken[layer].y));
    ENGINE_TRY(taker.take(
        given.dx, {.name = "dX", .type = type, .rows = config.capacity_rows, .columns = config.k},
        config.backward(), taken[layer].dx));
    ENGINE_TRY(taker.take(given.dw,
                          {.name = "dW",
                           .type = config.wgrad_type(),
                           .rows = config.weight_rows(),
                           .columns = config.k},
                          config.backward(), taken[layer].dw));
    // Every layer reads the same dY, so there is one.
    ENGINE_TRY(taker.take(given.bias_gradient,
                          {.name = "db",
                           .type = config.recipe.high_precision,
                           .rows = config.num_groups,
                           .columns = config.n},
                          config.backward() && config.linear.bias && layer == 0,
                          taken[layer].bias_gradient));
  }
  return taken;
}

}  // namespace engine
