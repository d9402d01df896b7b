// The stub driver's streams, events, captures and what is launched.
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "tests/attach/stub_core_dump.h"
#include "tests/attach/stub_state.h"

namespace {

std::vector<CUstream> g_capturing;
thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/// Whether a path leads from every node of `stream` to what `origin` goes on from.
bool joined(const CUstream_st& stream, const CUstream_st& origin) {
  std::set<CUgraphNode> reached(origin.newest.begin(), origin.newest.end());
  // An edge's nodes were added in this order, so one pass from the end finds all of them.
  for (auto edge = origin.graph->edges.rbegin(); edge != origin.graph->edges.rend(); ++edge) {
    if (reached.contains(edge->to)) reached.insert(edge->from);
  }
  return std::all_of(stream.newest.begin(), stream.newest.end(),
                     [&](CUgraphNode node) { return reached.contains(node); });
}

void leave_capture(CUstream stream) {
  stream->origin = nullptr;
  stream->newest.clear();
}

CUresult launch(const CUDA_KERNEL_NODE_PARAMS_v2& kernel, CUstream stream, bool programmatic) {
  const std::lock_guard lock(stub::mutex());
  if (!stub::captured(stream)) {
    if (kernel.func->name == "spin") stream->hangs = true;
    return stub::run(kernel);
  }
  const std::size_t edges = stream->origin->graph->edges.size();
  stub::keep_arguments(stub::add_node(stream, CU_GRAPH_NODE_TYPE_KERNEL), kernel);
  std::vector<StubEdge>& all = stream->origin->graph->edges;
  for (std::size_t e = edges; e < all.size(); ++e)
    all[e].programmatic = programmatic && all[e].from->type == CU_GRAPH_NODE_TYPE_KERNEL;
  return CUDA_SUCCESS;
}

}  // namespace

void stub::keep_arguments(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2& from) {
  node->kernel = from;
  node->arguments.clear();
  node->pointers.clear();
  for (std::size_t i = 0; i < from.func->slots.size(); ++i) {
    const auto* bytes = static_cast<const std::byte*>(from.kernelParams[i]);
    node->arguments.emplace_back(bytes, bytes + from.func->slots[i].second);
  }
  for (auto& argument : node->arguments) node->pointers.push_back(argument.data());
  node->kernel.kernelParams = node->pointers.data();
  node->kernel.extra = nullptr;
}

CUresult stub::unsafe_call() {
  if (t_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  for (CUstream stream : g_capturing) {
    if (stream->mode != CU_STREAM_CAPTURE_MODE_GLOBAL) continue;
    stream->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

CUgraphNode stub::add_node(CUstream stream, CUgraphNodeType type) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->type = type;
  CUgraph_st& graph = *stream->origin->graph;
  for (CUgraphNode before : stream->newest) graph.edges.push_back({before, node.get()});
  stream->newest = {node.get()};
  node->graph = &graph;
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().get();
}

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = new CUstream_st;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  while (stream->hangs) {
    if (stub::kernels_ended_by_dump()) return CUDA_ERROR_LAUNCH_FAILED;
    usleep(1000);
  }
  const std::lock_guard lock(stub::mutex());
  if (!stub::captured(stream)) return CUDA_SUCCESS;
  stream->origin->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}
CUresult cuStreamQuery(CUstream stream) {
  return stream->hangs ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuStreamQuery_ptsz(CUstream stream) { return cuStreamQuery(stream); }
CUresult cuStreamSynchronize_ptsz(CUstream stream) { return cuStreamSynchronize(stream); }
CUresult cuCtxSynchronize() {
  const std::lock_guard lock(stub::mutex());
  return stub::unsafe_call();
}
/// Since 13.0 the name asked of cuGetProcAddress means this one.
CUresult cuCtxSynchronize_v2(CUcontext context) {
  const std::lock_guard lock(stub::mutex());
  return context == nullptr ? stub::unsafe_call() : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  const std::lock_guard lock(stub::mutex());
  event->origin = stream->origin;
  event->after = stream->newest;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) { return cuEventRecord(event, stream); }
/// A stream that waits for an event of a capture takes part in that capture from then on.
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  const std::lock_guard lock(stub::mutex());
  if (event->origin == nullptr || event->origin->graph == nullptr) return CUDA_SUCCESS;
  if (!stub::captured(stream)) {
    stream->origin = event->origin;
    event->origin->forked.push_back(stream);
  }
  for (CUgraphNode node : event->after) {
    if (std::find(stream->newest.begin(), stream->newest.end(), node) == stream->newest.end())
      stream->newest.push_back(node);
  }
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned flags) {
  return cuStreamWaitEvent(stream, event, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(*mode, t_mode);
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const std::lock_guard lock(stub::mutex());
  *status = stub::captured(stream) ? stream->origin->status : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus* status) {
  return cuStreamIsCapturing(stream, status);
}
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** nodes,
                                   const CUgraphEdgeData** edges, size_t* count) {
  const std::lock_guard lock(stub::mutex());
  const bool captured = stub::captured(stream);
  *status = captured ? stream->origin->status : CU_STREAM_CAPTURE_STATUS_NONE;
  *id = captured ? stream->origin->capture : 0;
  *graph = captured ? stream->origin->graph.get() : nullptr;
  *edges = nullptr;
  *count = captured ? stream->newest.size() : 0;
  *nodes = stream->newest.data();
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream stream, CUstreamCaptureStatus* status,
                                        cuuint64_t* id, CUgraph* graph, const CUgraphNode** nodes,
                                        const CUgraphEdgeData** edges, size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, edges, count);
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  const std::lock_guard lock(stub::mutex());
  if (stub::captured(stream)) return CUDA_ERROR_ILLEGAL_STATE;
  static cuuint64_t captures = 0;
  stream->capture = ++captures;
  stream->graph = std::make_unique<CUgraph_st>();
  stream->mode = mode;
  stream->status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  stream->origin = stream;
  g_capturing.push_back(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  return cuStreamBeginCapture_v2(stream, mode);
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const std::lock_guard lock(stub::mutex());
  if (!stub::captured(stream) || stream->origin != stream) return CUDA_ERROR_ILLEGAL_STATE;
  std::erase(g_capturing, stream);
  CUresult result = stream->status == CU_STREAM_CAPTURE_STATUS_INVALIDATED
                        ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                        : CUDA_SUCCESS;
  for (CUstream forked : stream->forked) {
    if (result == CUDA_SUCCESS && !joined(*forked, *stream))
      result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    leave_capture(forked);
  }
  stream->forked.clear();
  leave_capture(stream);
  stream->status = CU_STREAM_CAPTURE_STATUS_NONE;
  *graph = result == CUDA_SUCCESS ? stream->graph.release() : nullptr;
  stream->graph.reset();
  return result;
}
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  return cuStreamEndCapture(stream, graph);
}

CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream,
                        void** parameters, void**) {
  CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
  kernel.func = function;
  kernel.gridDimX = x;
  kernel.gridDimY = y;
  kernel.gridDimZ = z;
  kernel.blockDimX = bx;
  kernel.blockDimY = by;
  kernel.blockDimZ = bz;
  kernel.sharedMemBytes = shared;
  kernel.kernelParams = parameters;
  return launch(kernel, stream, false);
}
CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned bx,
                             unsigned by, unsigned bz, unsigned shared, CUstream stream,
                             void** parameters, void** extra) {
  return cuLaunchKernel(function, x, y, z, bx, by, bz, shared, stream, parameters, extra);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void**) {
  CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
  kernel.func = function;
  kernel.gridDimX = config->gridDimX;
  kernel.gridDimY = config->gridDimY;
  kernel.gridDimZ = config->gridDimZ;
  kernel.blockDimX = config->blockDimX;
  kernel.blockDimY = config->blockDimY;
  kernel.blockDimZ = config->blockDimZ;
  kernel.sharedMemBytes = config->sharedMemBytes;
  kernel.kernelParams = parameters;
  const std::span attributes(config->attrs, config->numAttrs);
  const bool early = std::ranges::any_of(attributes, [](const CUlaunchAttribute& one) {
    return one.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
           one.value.programmaticStreamSerializationAllowed != 0;
  });
  return launch(kernel, config->hStream, early);
}
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** parameters,
                               void** extra) {
  return cuLaunchKernelEx(config, function, parameters, extra);
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream) {
  const std::lock_guard lock(stub::mutex());
  if (!stub::captured(stream)) {
    stub::write(address, value);
    return CUDA_SUCCESS;
  }
  stub::add_node(stream, CU_GRAPH_NODE_TYPE_MEMSET)->memset = {
      .dst = address, .pitch = 0, .value = value, .elementSize = 1, .width = bytes, .height = 1};
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  const std::lock_guard lock(stub::mutex());
  if (!stub::captured(stream)) {
    stub::write(to, from, bytes);
    return CUDA_SUCCESS;
  }
  CUDA_MEMCPY3D_v2& copy = stub::add_node(stream, CU_GRAPH_NODE_TYPE_MEMCPY)->memcpy;
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return CUDA_SUCCESS;
}

}  // extern "C"
