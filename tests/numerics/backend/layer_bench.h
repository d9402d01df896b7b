// A small expert layer on the CPU with everything that it needs.
#pragma once

#include <vector>

#include "engine/backend/cpu/cpu_expert_layer.h"
#include "engine/input/routing.h"
#include "engine/model/projections.h"

namespace engine {

struct LayerBench {
  explicit LayerBench(const RunRequest& wanted, bool keep = true)
      : request(wanted),
        shape(resolve_shape(request).value()),
        up(load_operands(step_parts(request).front().loaded(), keep, {.gradients = true}).value()),
        down(load_operands(step_parts(request).back().loaded(), keep, {.activations = true})
                 .value()),
        progress(shown),
        layer({.request = request,
               .shape = shape,
               .up = up,
               .down = down,
               .buffers = buffers,
               .context = {shown, observer},
               .progress = progress,
               .token_routing = resolve_token_routing(request).value()}) {}

  RunRequest request;
  GroupedShape shape;
  LoadedOperands up, down;
  LayerBuffers buffers;
  RunProgress shown;
  StepObserver observer;
  StepProgress progress;
  CpuExpertLayer layer;
};

inline RunRequest layer_request(Scaling scaling, StepPasses passes = StepPasses::ForwardBackward) {
  RunRequest request;
  request.step = StepKind::ExpertLayer;
  // Rows 0 for every other expert, blocks that end early.
  request.shape = {.preset = "", .num_experts = 4, .rows = 75, .n = 288, .k = 80};
  request.routing.distribution = RoutingDistribution::HalfEmpty;
  request.recipe.scaling = scaling;
  request.products.passes = passes;
  return request;
}

inline std::vector<Scaling> all_scalings() {
  std::vector<Scaling> all;
  for (const EnumName& name : kType<Scaling>.names) all.push_back(static_cast<Scaling>(name.value));
  return all;
}

}  // namespace engine
