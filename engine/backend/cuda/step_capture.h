// The captures of a step: one graph, or several, and the facts that are reported of each.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "engine/device/handles.h"
#include "engine/linear/device_step.h"
#include "engine/model/error.h"
#include "engine/model/run_result.h"
#include "engine/observe/graph_capture.h"

namespace engine {

struct StepCapture {
  std::vector<Graph> graphs;       // in the order of their launches
  std::vector<StepGraph> several;  // of each, where there are several
  GraphFacts contents;             // of all of them
};

/// `enqueue` launches a graph of the step by its number. `on_captured` is called with each graph
/// while the ledger still has the memory that belonged to it during the capture.
Result<StepCapture> capture_step(const DeviceStep& step, cudaStream_t stream,
                                 const std::function<Status(int)>& enqueue,
                                 const std::function<Status(const GraphCapture&)>& on_captured);

}  // namespace engine
