// Begin and end of captures, and the calls that they do not allow.
#include <atomic>
#include <cstdint>

#include "profiling/attach/preload/captures.h"
#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/spool_file.h"
#include "profiling/attach/preload/stacks.h"
#include "profiling/attach/preload/tensor_blocks.h"
#include "profiling/attach/preload/waits.h"

namespace attach {
namespace {

constinit std::atomic<int> g_captures{0};

CUresult began(CUstream stream, CUstreamCaptureMode mode, CUresult result) {
  if (result == CUDA_SUCCESS) {
    prepare_stacks();
    report_live_blocks();
    g_captures.fetch_add(1, std::memory_order_relaxed);
  }
  Frame<spool::CaptureBegan> frame;
  if (!frame) return result;
  frame->stream = reinterpret_cast<std::uint64_t>(stream);
  frame->mode = static_cast<std::uint32_t>(mode);
  frame->result = result;
  return result;
}

CUresult ended(CUstream stream, CUgraph* graph, CUresult result) {
  // A stream that was not under capture gives ILLEGAL_STATE or INVALID_VALUE.
  const bool was_captured =
      result != CUDA_ERROR_ILLEGAL_STATE && result != CUDA_ERROR_INVALID_VALUE;
  if (was_captured && g_captures.fetch_sub(1, std::memory_order_relaxed) <= 0) g_captures.store(0);
  Frame<spool::CaptureEnded> frame;
  if (!frame) return result;
  frame->stream = reinterpret_cast<std::uint64_t>(stream);
  frame->graph =
      result == CUDA_SUCCESS && graph != nullptr ? reinterpret_cast<std::uint64_t>(*graph) : 0;
  frame->result = result;
  return result;
}

bool is_capture_error(CUresult result) {
  return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
         result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

}  // namespace

bool any_capture() { return g_captures.load(std::memory_order_relaxed) > 0; }

bool is_captured(CUstream stream, bool per_thread) {
  if (!any_capture()) return false;
  static constinit std::atomic<void*> of_default{nullptr};
  static constinit std::atomic<void*> of_thread{nullptr};
  std::atomic<void*>& known = per_thread ? of_thread : of_default;
  void* address = known.load(std::memory_order_acquire);
  if (address == nullptr) {
    address = driver_symbol(per_thread ? "cuStreamIsCapturing_ptsz" : "cuStreamIsCapturing");
    if (address == nullptr) return false;
    known.store(address, std::memory_order_release);
  }
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const auto query = reinterpret_cast<decltype(&::cuStreamIsCapturing)>(address);
  return query(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CaptureInfo capture_of(CUstream stream, bool per_thread) {
  // Version 2 has no edge data, and is refused where there are programmatic edges.
  using Query = decltype(&::cuStreamGetCaptureInfo_v3);
  static constinit std::atomic<void*> of_default{nullptr};
  static constinit std::atomic<void*> of_thread{nullptr};
  std::atomic<void*>& known = per_thread ? of_thread : of_default;
  void* address = known.load(std::memory_order_acquire);
  if (address == nullptr) {
    address =
        driver_symbol(per_thread ? "cuStreamGetCaptureInfo_v3_ptsz" : "cuStreamGetCaptureInfo_v3");
    if (address == nullptr) return {};
    known.store(address, std::memory_order_release);
  }
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CaptureInfo found;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  const CUresult result = reinterpret_cast<Query>(address)(stream, &status, &found.id, &found.graph,
                                                           &nodes, &edges, &count);
  if (result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return {};
  if (count > 0) found.newest = nodes[count - 1];
  return found;
}

CUresult noted(const char* name, CUresult result) {
  if (!any_capture() && !is_capture_error(result)) return result;
  const std::uint32_t bytes = text_bytes(name);
  Frame<spool::Call> frame(bytes);
  if (!frame) return result;
  frame->result = result;
  frame->name_bytes = bytes;
  frame.append(name, bytes);
  return result;
}

}  // namespace attach

using attach::began;
using attach::ended;
using attach::noted;
using attach::real;
using attach::WaitScope;
using profiling::spool::WaitCall;

extern "C" {

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return began(stream, mode, real<&cuStreamBeginCapture_v2>(stream, mode));
}
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  return began(stream, mode, real<&cuStreamBeginCapture_v2_ptsz>(stream, mode));
}
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                     const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                                     size_t count, CUstreamCaptureMode mode) {
  return began(stream, mode,
               real<&cuStreamBeginCaptureToGraph>(stream, graph, dependencies, edges, count, mode));
}
CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph,
                                          const CUgraphNode* dependencies,
                                          const CUgraphEdgeData* edges, size_t count,
                                          CUstreamCaptureMode mode) {
  return began(
      stream, mode,
      real<&cuStreamBeginCaptureToGraph_ptsz>(stream, graph, dependencies, edges, count, mode));
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return ended(stream, graph, real<&cuStreamEndCapture>(stream, graph));
}
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  return ended(stream, graph, real<&cuStreamEndCapture_ptsz>(stream, graph));
}

CUresult cuCtxSynchronize() {
  const WaitScope wait(WaitCall::ContextSynchronize);
  return noted("cuCtxSynchronize", real<&cuCtxSynchronize>());
}
CUresult cuCtxSynchronize_v2(CUcontext context) {
  const WaitScope wait(WaitCall::ContextSynchronize);
  return noted("cuCtxSynchronize", real<&cuCtxSynchronize_v2>(context));
}
CUresult cuStreamSynchronize(CUstream stream) {
  const WaitScope wait(WaitCall::StreamSynchronize, stream);
  return noted("cuStreamSynchronize", real<&cuStreamSynchronize>(stream));
}
CUresult cuStreamSynchronize_ptsz(CUstream stream) {
  const WaitScope wait(WaitCall::StreamSynchronize, stream);
  return noted("cuStreamSynchronize", real<&cuStreamSynchronize_ptsz>(stream));
}
CUresult cuStreamQuery(CUstream stream) {
  return noted("cuStreamQuery", real<&cuStreamQuery>(stream));
}
CUresult cuStreamQuery_ptsz(CUstream stream) {
  return noted("cuStreamQuery", real<&cuStreamQuery_ptsz>(stream));
}
CUresult cuEventSynchronize(CUevent event) {
  const WaitScope wait(WaitCall::EventSynchronize);
  return noted("cuEventSynchronize", real<&cuEventSynchronize>(event));
}
CUresult cuEventQuery(CUevent event) { return noted("cuEventQuery", real<&cuEventQuery>(event)); }

}  // extern "C"
