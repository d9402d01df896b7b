// Factories of the owners in handles.h.
#include "engine/device/handles.h"

namespace engine {

Result<Stream> make_stream() {
  cudaStream_t stream = nullptr;
  ENGINE_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "Creating a stream");
  return Stream(stream);
}

Result<Event> make_timing_event() {
  cudaEvent_t event = nullptr;
  ENGINE_CUDA_TRY(cudaEventCreate(&event), "Creating an event");
  return Event(event);
}

Result<Event> make_order_event() {
  cudaEvent_t event = nullptr;
  ENGINE_CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "Creating an event");
  return Event(event);
}

Result<GraphExec> instantiate(const Graph& graph) {
  cudaGraphExec_t exec = nullptr;
  ENGINE_CUDA_TRY(cudaGraphInstantiate(&exec, graph.get(), 0), "Instantiating the graph");
  return GraphExec(exec);
}

}  // namespace engine
