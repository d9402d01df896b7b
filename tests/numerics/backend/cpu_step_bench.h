// A CPU step with everything it refers to.
#pragma once

#include <utility>
#include <vector>

#include "engine/backend/cpu/cpu_linear_step.h"
#include "engine/backend/cpu/loaded_operands.h"
#include "engine/input/routing.h"

namespace engine {

template <class Observer = StepObserver>
struct CpuStepBench {
  explicit CpuStepBench(const RunRequest& wanted, std::vector<LayerOutputs> outputs = {})
      : request(wanted),
        shape(resolve_shape(request).value()),
        operands(load_operands(request, true).value()),
        step({.request = request,
              .shape = shape,
              .operands = operands,
              .buffers = buffers,
              .context = {progress, observer},
              .outputs = std::move(outputs)},
             units),
        projection(step.projection()) {}
  RunRequest request;
  GroupedShape shape;
  LoadedOperands operands;
  StepBuffers buffers;
  RunProgress progress;
  Observer observer;
  StepProgress units{progress};
  CpuLinearStep step;
  CpuProjection& projection;
};

}  // namespace engine
