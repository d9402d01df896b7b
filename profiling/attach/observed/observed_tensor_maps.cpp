// Tensor maps in the arguments of a node that was just read or changed.
#include <algorithm>
#include <iterator>

#include "profiling/attach/observed/observed_process.h"

namespace profiling {

void ObservedProcess::take_tensor_map(const SpoolFrame& frame) {
  spool::TensorMap map{};
  if (!frame.read(map) || map.address == 0) return;
  std::uint64_t number = map.graph;
  if (number == 0) {
    const auto changed = of_exec_.find(map.exec);
    if (changed == of_exec_.end()) return;
    number = changed->second;
  }
  ObservedGraph* graph = find(number);
  if (graph == nullptr) return;
  // Of a graph that is being read it is the last one.
  const auto handle = std::find(graph->handles.rbegin(), graph->handles.rend(), map.node);
  if (handle == graph->handles.rend()) return;
  const auto index = static_cast<std::size_t>(std::distance(handle, graph->handles.rend()) - 1);
  auto* kernel = std::get_if<KernelNode>(&graph->graph.nodes[index].parameters);
  if (kernel == nullptr) return;
  const std::uint64_t end = std::uint64_t{map.offset} + kTensorMapBytes;
  const std::uint64_t first =
      kernel->tensor_maps.empty()
          ? 0
          : std::uint64_t{kernel->tensor_maps.back().offset} + kTensorMapBytes;
  if (end > kernel->parameters.size() || map.offset < first || map.offset % kTensorMapAlign != 0)
    return;
  const bool wraps = map.address + map.bytes < map.address;
  kernel->tensor_maps.push_back(
      {.offset = map.offset, .address = map.address, .bytes = wraps ? 0 : map.bytes});
}

}  // namespace profiling
