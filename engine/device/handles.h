// Move-only owners of CUDA's handles. An owner destroys its handle once; a moved-from owner is
// empty. Errors on destruction are ignored: they only repeat an earlier one.
// Waiting for an event has a deadline.
#pragma once

#include <cuda_runtime_api.h>
#include <functional>
#include <utility>

#include "engine/device/check.h"
#include "engine/model/error.h"

namespace engine {

template <class Handle, auto kDestroy>
class Owner {
 public:
  Owner() = default;
  explicit Owner(Handle handle) : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owner& operator=(Owner&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, Handle{});
    }
    return *this;
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { reset(); }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle{}; }

 private:
  void reset() {
    if (handle_ != Handle{}) (void)kDestroy(std::exchange(handle_, Handle{}));
  }
  Handle handle_{};
};

using Stream = Owner<cudaStream_t, cudaStreamDestroy>;
using Event = Owner<cudaEvent_t, cudaEventDestroy>;
using Graph = Owner<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owner<cudaGraphExec_t, cudaGraphExecDestroy>;

/// A stream that does not wait for the legacy default stream.
Result<Stream> make_stream();
/// An event with timing.
Result<Event> make_timing_event();
/// An event that only orders streams: cheaper, and used to fork and join captures.
Result<Event> make_order_event();
/// Nanoseconds between two timing events that have happened.
Result<double> elapsed_ns(const Event& begin, const Event& end);

/// Captures the work that `enqueue` adds to the stream. ThreadLocal mode: other threads of the
/// worker may continue to make CUDA calls. If `enqueue` fails, the capture is ended and its error
/// returned.
template <class Enqueue>
Result<Graph> capture(cudaStream_t stream, Enqueue&& enqueue) {
  ENGINE_CUDA_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                  "Starting the graph capture");
  const Status enqueued = enqueue();
  cudaGraph_t raw = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &raw);
  Graph graph(raw);
  if (!enqueued.ok()) {
    (void)cudaGetLastError();
    return enqueued.error();
  }
  ENGINE_CUDA_TRY(ended, "Ending the graph capture");
  return graph;
}

Result<GraphExec> instantiate(const Graph& graph);

// Waiting for the device with a deadline. Never blocks in the driver: a call that waits for a
// spinning kernel would not return.

enum class Waited { Done, Late, Cancelled };

/// Polls until `event` has happened, `seconds` have passed, or `cancelled` says so. In the first
/// 200 us it reacts as fast as cudaEventSynchronize(); later its pauses are shorter than the time
/// already waited, and than a millisecond. An error is a fault of the device.
Result<Waited> wait_for(cudaEvent_t event, double seconds, const std::function<bool()>& cancelled);

}  // namespace engine
