// A libcuda.so.1 without a device: memory, streams, captures, kernels with argument layouts and
// graphs behave as the driver's do, nothing is computed. Freed addresses are given again at once,
// newest first, as a caching allocator would: that is what makes freed memory under a graph
// dangerous.
//
// A module's image is text: "scale:8,8,4;fill:8" has two kernels with parameters of these sizes.
#define __CUDA_API_VERSION_INTERNAL  // declares every version of each function, and renames none
#include <cuda.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/attach/stub_core_dump.h"

struct CUmod_st {
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};
struct CUfunc_st {
  std::string name;
  std::vector<std::pair<std::size_t, std::size_t>> slots;  // offset, bytes
  CUmodule module = nullptr;
};
struct CUgraphNode_st {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
  std::vector<std::vector<std::byte>> arguments;
  std::vector<void*> pointers;
  CUDA_MEMSET_NODE_PARAMS_v1 memset{};
  CUDA_MEMCPY3D_v2 memcpy{};
  CUdeviceptr address = 0;  // that it allocates or frees
  std::size_t bytes = 0;
  CUgraphConditionalNodeType condition = CU_GRAPH_COND_TYPE_IF;
  std::vector<std::unique_ptr<CUgraph_st>> bodies;
  std::vector<CUgraph> body_handles;
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
  std::vector<std::pair<CUgraphNode, CUgraphNode>> edges;
};
struct CUgraphExec_st {
  int launches = 0;
  bool hangs = false;  // has a kernel named "spin"
};
struct CUstream_st {
  bool hangs = false;
  cuuint64_t capture = 0;        // counts captures from 1
  CUgraphNode newest = nullptr;  // what a query of the capture points to
  std::unique_ptr<CUgraph_st> graph;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
};

namespace {

std::mutex g_mutex;
std::map<CUdeviceptr, std::size_t> g_memory;
std::vector<std::pair<CUdeviceptr, std::size_t>> g_free;
CUdeviceptr g_next = 0x7f0000000000;
std::vector<CUstream> g_capturing;
thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/// A call that may wait or allocate: refused while somebody captures in global mode, unless its
/// thread is relaxed.
CUresult unsafe_call() {
  if (t_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  for (CUstream stream : g_capturing) {
    if (stream->mode != CU_STREAM_CAPTURE_MODE_GLOBAL) continue;
    stream->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

CUdeviceptr take(std::size_t bytes) {
  const auto again = std::find_if(g_free.rbegin(), g_free.rend(),
                                  [&](const auto& one) { return one.second == bytes; });
  CUdeviceptr address = g_next;
  if (again != g_free.rend()) {
    address = again->first;
    g_free.erase(std::next(again).base());
  } else {
    g_next += (bytes + 0x1fffff) / 0x200000 * 0x200000;
  }
  g_memory[address] = bytes;
  return address;
}

CUgraphNode add_node(CUstream stream, CUgraphNodeType type) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->type = type;
  CUgraph_st& graph = *stream->graph;
  if (!graph.nodes.empty()) graph.edges.emplace_back(graph.nodes.back().get(), node.get());
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().get();
}

bool captured(CUstream stream) { return stream != nullptr && stream->graph != nullptr; }

void keep_arguments(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2& from) {
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

}  // namespace

extern "C" {

CUresult cuInit(unsigned) {
  static std::once_flag once;
  std::call_once(once, stub::listen_for_triggers);
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
  std::strncpy(name, "Stub device", static_cast<std::size_t>(bytes) - 1);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* text, int bytes, CUdevice) {
  std::strncpy(text, "0000:00:00.0", static_cast<std::size_t>(bytes) - 1);
  return CUDA_SUCCESS;
}

// ---- Memory

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  const std::lock_guard lock(g_mutex);
  if (const CUresult refused = unsafe_call(); refused != CUDA_SUCCESS) return refused;
  *address = take(bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  const std::lock_guard lock(g_mutex);
  if (const CUresult refused = unsafe_call(); refused != CUDA_SUCCESS) return refused;
  const auto block = g_memory.find(address);
  if (block == g_memory.end()) return CUDA_ERROR_INVALID_VALUE;
  g_free.emplace_back(*block);
  g_memory.erase(block);
  return CUDA_SUCCESS;
}
CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  const std::lock_guard lock(g_mutex);
  *address = take(bytes);
  if (!captured(stream)) return CUDA_SUCCESS;
  CUgraphNode node = add_node(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  node->address = *address;
  node->bytes = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return cuMemAllocAsync(address, bytes, stream);
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  const std::lock_guard lock(g_mutex);
  if (captured(stream)) {
    add_node(stream, CU_GRAPH_NODE_TYPE_MEM_FREE)->address = address;
    return CUDA_SUCCESS;
  }
  const auto block = g_memory.find(address);
  if (block == g_memory.end()) return CUDA_ERROR_INVALID_VALUE;
  g_free.emplace_back(*block);
  g_memory.erase(block);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
  return cuMemFreeAsync(address, stream);
}
CUresult cuMemAllocHost_v2(void** address, size_t bytes) {
  *address = std::malloc(bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* address) {
  std::free(address);
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void* answer, CUpointer_attribute attribute, CUdeviceptr address) {
  const std::lock_guard lock(g_mutex);
  const auto after = g_memory.upper_bound(address);
  const bool known =
      after != g_memory.begin() && address - std::prev(after)->first < std::prev(after)->second;
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<unsigned*>(answer) =
      attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? CU_MEMORYTYPE_DEVICE : 0;
  return CUDA_SUCCESS;
}

// ---- Modules and functions

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  auto* made = new CUmod_st;
  const std::string text = static_cast<const char*>(image);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    const std::string one = text.substr(at, end - at);
    auto function = std::make_unique<CUfunc_st>();
    const std::size_t colon = std::min(one.find(':'), one.size());
    function->name = one.substr(0, colon);
    function->module = made;
    std::size_t offset = 0;
    for (std::size_t p = colon + 1; p < one.size();) {
      const std::size_t comma = std::min(one.find(',', p), one.size());
      const std::size_t bytes = std::stoul(one.substr(p, comma - p));
      const std::size_t alignment = std::min<std::size_t>(bytes, 8);
      offset = (offset + alignment - 1) / alignment * alignment;
      function->slots.emplace_back(offset, bytes);
      offset += bytes;
      p = comma + 1;
    }
    made->functions.push_back(std::move(function));
    at = end + 1;
  }
  *module = made;
  return CUDA_SUCCESS;
}
// The functions stay: a graph still points to them, as it would to freed code.
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  for (const auto& one : module->functions) {
    if (one->name != name) continue;
    *function = one.get();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}
CUresult cuFuncGetName(const char** name, CUfunction function) {
  *name = function->name.c_str();
  return CUDA_SUCCESS;
}
CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  *module = function->module;
  return CUDA_SUCCESS;
}
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  if (index >= function->slots.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = function->slots[index].first;
  *bytes = function->slots[index].second;
  return CUDA_SUCCESS;
}

// ---- Streams and captures

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = new CUstream_st;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  while (stream->hangs) {
    if (stub::kernels_ended_by_dump()) return CUDA_ERROR_LAUNCH_FAILED;
    usleep(1000);
  }
  const std::lock_guard lock(g_mutex);
  if (!captured(stream)) return CUDA_SUCCESS;
  stream->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}
CUresult cuStreamSynchronize_ptsz(CUstream stream) { return cuStreamSynchronize(stream); }
CUresult cuCtxSynchronize() {
  const std::lock_guard lock(g_mutex);
  return unsafe_call();
}
/// Since 13.0 the name asked of cuGetProcAddress means this one.
CUresult cuCtxSynchronize_v2(CUcontext context) {
  const std::lock_guard lock(g_mutex);
  return context == nullptr ? unsafe_call() : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(*mode, t_mode);
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const std::lock_guard lock(g_mutex);
  *status = captured(stream) ? stream->status : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus* status) {
  return cuStreamIsCapturing(stream, status);
}
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** nodes,
                                   const CUgraphEdgeData** edges, size_t* count) {
  const std::lock_guard lock(g_mutex);
  *status = captured(stream) ? stream->status : CU_STREAM_CAPTURE_STATUS_NONE;
  *id = stream->capture;
  *graph = stream->graph.get();
  *edges = nullptr;
  *count = captured(stream) && !stream->graph->nodes.empty() ? 1 : 0;
  if (*count == 1) stream->newest = stream->graph->nodes.back().get();
  *nodes = &stream->newest;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream stream, CUstreamCaptureStatus* status,
                                        cuuint64_t* id, CUgraph* graph, const CUgraphNode** nodes,
                                        const CUgraphEdgeData** edges, size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, edges, count);
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  const std::lock_guard lock(g_mutex);
  if (captured(stream)) return CUDA_ERROR_ILLEGAL_STATE;
  static cuuint64_t captures = 0;
  stream->capture = ++captures;
  stream->graph = std::make_unique<CUgraph_st>();
  stream->mode = mode;
  stream->status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  g_capturing.push_back(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  return cuStreamBeginCapture_v2(stream, mode);
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const std::lock_guard lock(g_mutex);
  if (!captured(stream)) return CUDA_ERROR_ILLEGAL_STATE;
  std::erase(g_capturing, stream);
  const bool broken = stream->status == CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  stream->status = CU_STREAM_CAPTURE_STATUS_NONE;
  *graph = broken ? nullptr : stream->graph.release();
  stream->graph.reset();
  return broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  return cuStreamEndCapture(stream, graph);
}

CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream,
                        void** parameters, void**) {
  const std::lock_guard lock(g_mutex);
  if (!captured(stream)) return CUDA_SUCCESS;
  CUDA_KERNEL_NODE_PARAMS_v2 node{};
  node.func = function;
  node.gridDimX = x;
  node.gridDimY = y;
  node.gridDimZ = z;
  node.blockDimX = bx;
  node.blockDimY = by;
  node.blockDimZ = bz;
  node.sharedMemBytes = shared;
  node.kernelParams = parameters;
  keep_arguments(add_node(stream, CU_GRAPH_NODE_TYPE_KERNEL), node);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream) {
  const std::lock_guard lock(g_mutex);
  if (!captured(stream)) return CUDA_SUCCESS;
  add_node(stream, CU_GRAPH_NODE_TYPE_MEMSET)->memset = {
      .dst = address, .pitch = 0, .value = value, .elementSize = 1, .width = bytes, .height = 1};
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  const std::lock_guard lock(g_mutex);
  if (!captured(stream)) return CUDA_SUCCESS;
  CUDA_MEMCPY3D_v2& copy = add_node(stream, CU_GRAPH_NODE_TYPE_MEMCPY)->memcpy;
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return CUDA_SUCCESS;
}

// ---- Graphs

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  if (nodes != nullptr) {
    for (std::size_t n = 0; n < *count && n < graph->nodes.size(); ++n)
      nodes[n] = graph->nodes[n].get();
  }
  *count = graph->nodes.size();
  return CUDA_SUCCESS;
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* data, size_t* count) {
  for (std::size_t e = 0; from != nullptr && e < *count && e < graph->edges.size(); ++e) {
    from[e] = graph->edges[e].first;
    to[e] = graph->edges[e].second;
    data[e] = {};
  }
  *count = graph->edges.size();
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  *type = node->type;
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  *parameters = node->kernel;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS_v1* parameters) {
  *parameters = node->memset;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D_v2* parameters) {
  *parameters = node->memcpy;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS_v1* parameters) {
  parameters->dptr = node->address;
  parameters->bytesize = node->bytes;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
  *address = node->address;
  return CUDA_SUCCESS;
}
/// Conditional nodes only. As in drivers before 13.2, nothing tells the bodies later.
CUresult cuGraphAddNode_v2(CUgraphNode* made, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData*, size_t count, CUgraphNodeParams* parameters) {
  if (parameters->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) return CUDA_ERROR_NOT_SUPPORTED;
  const std::lock_guard lock(g_mutex);
  auto node = std::make_unique<CUgraphNode_st>();
  node->type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  node->condition = parameters->conditional.type;
  for (unsigned body = 0; body < parameters->conditional.size; ++body) {
    node->bodies.push_back(std::make_unique<CUgraph_st>());
    node->body_handles.push_back(node->bodies.back().get());
  }
  parameters->conditional.phGraph_out = node->body_handles.data();
  for (std::size_t d = 0; d < count; ++d) graph->edges.emplace_back(dependencies[d], node.get());
  *made = node.get();
  graph->nodes.push_back(std::move(node));
  return CUDA_SUCCESS;
}
/// Bodies are filled by hand here, with memsets.
CUresult cuGraphAddMemsetNode(CUgraphNode* made, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS_v1* parameters,
                              CUcontext) {
  const std::lock_guard lock(g_mutex);
  auto node = std::make_unique<CUgraphNode_st>();
  node->type = CU_GRAPH_NODE_TYPE_MEMSET;
  node->memset = *parameters;
  for (std::size_t d = 0; d < count; ++d) graph->edges.emplace_back(dependencies[d], node.get());
  *made = node.get();
  graph->nodes.push_back(std::move(node));
  return CUDA_SUCCESS;
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode, CUgraph*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  *exec = new CUgraphExec_st;
  for (const auto& node : graph->nodes) {
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL && node->kernel.func->name == "spin")
      (*exec)->hangs = true;
  }
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode*, char*, size_t) {
  return cuGraphInstantiateWithFlags(exec, graph, 0);
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  ++exec->launches;
  stream->hangs = stream->hangs || exec->hangs;
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
  return cuGraphLaunch(exec, stream);
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  delete exec;
  return CUDA_SUCCESS;
}
CUresult cuGraphExecUpdate_v2(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*) {
  return CUDA_SUCCESS;
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec, CUgraphNode,
                                           const CUDA_KERNEL_NODE_PARAMS_v2*) {
  return CUDA_SUCCESS;
}

// ---- Look-up

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status);

}  // extern "C"

namespace {

struct Symbol {
  const char* name;
  int version;
  bool per_thread;
  void* address;
};
#define SYMBOL(name, version, function) {name, version, false, reinterpret_cast<void*>(&function)}
#define PER_THREAD(name, version, function) \
  {name, version, true, reinterpret_cast<void*>(&function)}
const Symbol kSymbols[] = {
    SYMBOL("cuGetProcAddress", 12000, cuGetProcAddress_v2),
    SYMBOL("cuInit", 2000, cuInit),
    SYMBOL("cuMemAlloc", 3020, cuMemAlloc_v2),
    SYMBOL("cuMemFree", 3020, cuMemFree_v2),
    SYMBOL("cuMemAllocAsync", 11020, cuMemAllocAsync),
    PER_THREAD("cuMemAllocAsync", 11020, cuMemAllocAsync_ptsz),
    SYMBOL("cuMemFreeAsync", 11020, cuMemFreeAsync),
    PER_THREAD("cuMemFreeAsync", 11020, cuMemFreeAsync_ptsz),
    SYMBOL("cuMemAllocHost", 3020, cuMemAllocHost_v2),
    SYMBOL("cuMemFreeHost", 2000, cuMemFreeHost),
    SYMBOL("cuModuleLoadData", 2000, cuModuleLoadData),
    SYMBOL("cuModuleUnload", 2000, cuModuleUnload),
    SYMBOL("cuModuleGetFunction", 2000, cuModuleGetFunction),
    SYMBOL("cuStreamCreate", 2000, cuStreamCreate),
    SYMBOL("cuStreamSynchronize", 2000, cuStreamSynchronize),
    PER_THREAD("cuStreamSynchronize", 2000, cuStreamSynchronize_ptsz),
    SYMBOL("cuCtxSynchronize", 2000, cuCtxSynchronize),
    SYMBOL("cuCtxSynchronize", 13000, cuCtxSynchronize_v2),
    SYMBOL("cuStreamBeginCapture", 10010, cuStreamBeginCapture_v2),
    PER_THREAD("cuStreamBeginCapture", 10010, cuStreamBeginCapture_v2_ptsz),
    SYMBOL("cuStreamEndCapture", 10000, cuStreamEndCapture),
    PER_THREAD("cuStreamEndCapture", 10000, cuStreamEndCapture_ptsz),
    SYMBOL("cuLaunchKernel", 4000, cuLaunchKernel),
    SYMBOL("cuMemsetD8Async", 3020, cuMemsetD8Async),
    SYMBOL("cuMemcpyHtoDAsync", 3020, cuMemcpyHtoDAsync_v2),
    SYMBOL("cuGraphInstantiate", 11000, cuGraphInstantiate_v2),
    SYMBOL("cuGraphInstantiateWithFlags", 11040, cuGraphInstantiateWithFlags),
    SYMBOL("cuGraphGetNodes", 10000, cuGraphGetNodes),
    SYMBOL("cuGraphAddNode", 12030, cuGraphAddNode_v2),
    SYMBOL("cuGraphAddMemsetNode", 10000, cuGraphAddMemsetNode),
    SYMBOL("cuGraphLaunch", 10000, cuGraphLaunch),
    PER_THREAD("cuGraphLaunch", 10000, cuGraphLaunch_ptsz),
    SYMBOL("cuGraphExecDestroy", 10000, cuGraphExecDestroy),
    SYMBOL("cuGraphExecUpdate", 12000, cuGraphExecUpdate_v2),
    SYMBOL("cuGraphExecKernelNodeSetParams", 12000, cuGraphExecKernelNodeSetParams_v2),
};

}  // namespace

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  *function = nullptr;
  for (const Symbol& one : kSymbols) {
    if (std::strcmp(one.name, symbol) != 0 || one.version > version ||
        (one.per_thread && !per_thread))
      continue;
    *function = one.address;
  }
  if (status != nullptr) {
    *status =
        *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
