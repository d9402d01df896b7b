#include "engine/backend/cuda/step_capture.h"

#include <string>
#include <utility>

#include "engine/device/device_facts.h"

namespace engine {
namespace {

void add(const GraphFacts& one, GraphFacts& all) {
  all.kernels += one.kernels;
  all.memsets += one.memsets;
  all.copies += one.copies;
  all.allocations += one.allocations;
  all.host_calls += one.host_calls;
}

}  // namespace

Result<StepCapture> capture_step(const DeviceStep& step, cudaStream_t stream,
                                 const std::function<Status(int)>& enqueue,
                                 const std::function<Status(const GraphCapture&)>& on_captured) {
  GraphMemory* const memory = step.graph_memory();
  const std::vector<std::string> names = step.graph_names();
  std::vector<GraphPool> pools;
  if (memory != nullptr) pools = memory->ranges();
  StepCapture made;
  for (int number = 0; number < static_cast<int>(names.size()); ++number) {
    const std::string& name = names[static_cast<std::size_t>(number)];
    if (memory != nullptr) memory->begin_capture(number);
    ENGINE_ASSIGN(Graph graph, capture(stream, [&] { return enqueue(number); }));
    // Before anything is added to it.
    ENGINE_ASSIGN(const GraphFacts contents, count_nodes(graph.get()));
    ENGINE_TRY(on_captured({.graph = graph.get(), .name = name, .pools = pools}));
    add(contents, made.contents);
    if (names.size() > 1) made.several.push_back({.name = name, .contents = contents});
    made.graphs.push_back(std::move(graph));
    if (memory != nullptr) memory->end_capture(number);
  }
  return made;
}

}  // namespace engine
