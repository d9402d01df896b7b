// Factories of the owners in handles.h.
#include "engine/device/handles.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/device/check.h"

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

Result<double> elapsed_ns(const Event& begin, const Event& end) {
  float milliseconds = 0.0F;
  ENGINE_CUDA_TRY(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()),
                  "Reading the time between two events");
  return static_cast<double>(milliseconds) * 1e6;
}

Result<GraphExec> instantiate(const Graph& graph) {
  cudaGraphExec_t exec = nullptr;
  ENGINE_CUDA_TRY(cudaGraphInstantiate(&exec, graph.get(), 0), "Instantiating the graph");
  return GraphExec(exec);
}

namespace {

using Clock = std::chrono::steady_clock;

// Short steps are timed here with a few launches in flight: a pause, which the system may extend by
// 50 us, would let the device idle.
constexpr std::chrono::microseconds kWithoutPause{200};
constexpr std::chrono::microseconds kFirstPause{20};
constexpr std::chrono::microseconds kLongestPause{1000};

}  // namespace

Result<Waited> wait_for(cudaEvent_t event, double seconds, const std::function<bool()>& cancelled) {
  const Clock::time_point start = Clock::now();
  std::chrono::microseconds pause = kFirstPause;
  while (true) {
    const cudaError_t state = cudaEventQuery(event);
    if (state == cudaSuccess) return Waited::Done;
    if (state != cudaErrorNotReady) return cuda_error(state, "Waiting for the device");
    // Clear the error, or the next launch's check would report it.
    (void)cudaGetLastError();
    const Clock::duration waited = Clock::now() - start;
    if (std::chrono::duration<double>(waited).count() > seconds) return Waited::Late;
    if (cancelled()) return Waited::Cancelled;
    if (waited < kWithoutPause) continue;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace engine
