// Which output a pass writes, and how large it is.
#include "engine/model/step_outputs.h"

#include <fmt/format.h>

#include <utility>

namespace engine {
namespace {

/// One output of a layer, if it was given.
Status take(const std::optional<CallerTensor>& given, const OutputDemand& demand, bool written,
            void*& target) {
  if (!given) return {};
  if (!written) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: a tensor was given but this step does not write it; leave it "
                             "out, or choose the passes and the bias that write it",
                             demand.name)};
  }
  if (Status fits = check_output(demand, *given); !fits.ok()) return fits;
  target = given->values;
  return {};
}

}  // namespace

Result<std::vector<LayerOutputs>> take_outputs(const OutputShape& shape,
                                               const std::vector<CallerOutputs>& outputs) {
  const auto layers = static_cast<std::size_t>(shape.layers);
  if (!outputs.empty() && outputs.size() != layers) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("Outputs of {} layers were given but the step has {}; give one entry "
                             "per layer, or none",
                             outputs.size(), layers)};
  }
  std::vector<LayerOutputs> taken(layers);
  for (std::size_t layer = 0; layer < outputs.size(); ++layer) {
    const CallerOutputs& given = outputs[layer];
    LayerOutputs& to = taken[layer];
    const auto demand = [&](const char* name, ElementType type, std::int64_t rows,
                            std::int64_t columns) -> OutputDemand {
      return {.name = fmt::format("{}, layer {}", name, layer),
              .type = type,
              .rows = rows,
              .columns = columns,
              .device = shape.device};
    };
    // Every layer reads the same dY, so there is one db.
    const bool writes_bias = shape.backward && shape.bias && layer == 0;
    for (const Status& status :
         {take(given.y, demand("Y", shape.type, shape.capacity_rows, shape.n), shape.forward, to.y),
          take(given.dx, demand("dX", shape.type, shape.capacity_rows, shape.k), shape.backward,
               to.dx),
          take(given.dw, demand("dW", shape.wgrad_type, shape.num_groups * shape.n, shape.k),
               shape.backward, to.dw),
          take(given.bias_gradient, demand("db", shape.bias_type, shape.num_groups, shape.n),
               writes_bias, to.bias_gradient)}) {
      if (!status.ok()) return status.error();
    }
  }
  return taken;
}

}  // namespace engine
