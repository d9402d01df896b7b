// A libcuda.so.1 without a device: memory, streams, captures, kernels with argument layouts and
// graphs behave as the driver's do. A few kernels compute (stub_contents.cpp).
//
// A module's image is text, or has it in a section: "scale:8,8,4;fill:8" has two kernels with
// parameters of these sizes.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/attach/cubin_image.h"
#include "tests/attach/stub_core_dump.h"
#include "tests/attach/stub_state.h"

std::mutex& stub::mutex() {
  static std::mutex one;
  return one;
}

int stub::number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

extern "C" {

CUresult cuInit(unsigned) {
  static std::once_flag once;
  std::call_once(once, stub::listen_for_triggers);
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = stub::number_of("STUB_CUDA_VERSION", 13000);
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

// ---- Modules and functions

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const bool ptx = std::strncmp(static_cast<const char*>(image), "//", 2) == 0;
  if (const int refused = stub::number_of("STUB_REFUSES_PTX", 0); ptx && refused != 0)
    return static_cast<CUresult>(refused);
  auto* made = new CUmod_st;
  made->context = stub::context();
  const std::string text = stub_kernels(static_cast<const char*>(image));
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
      const std::size_t alignment =
          bytes == sizeof(CUtensorMap) ? 64 : std::min<std::size_t>(bytes, 8);
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
    from[e] = graph->edges[e].from;
    to[e] = graph->edges[e].to;
    data[e] = {};
    if (!graph->edges[e].programmatic) continue;
    data[e].type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    data[e].from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
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
  const std::lock_guard lock(stub::mutex());
  auto node = std::make_unique<CUgraphNode_st>();
  node->type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  node->condition = parameters->conditional.type;
  for (unsigned body = 0; body < parameters->conditional.size; ++body) {
    node->bodies.push_back(std::make_unique<CUgraph_st>());
    node->body_handles.push_back(node->bodies.back().get());
  }
  parameters->conditional.phGraph_out = node->body_handles.data();
  *made = stub::add_node(graph, std::move(node), dependencies, count);
  return CUDA_SUCCESS;
}
/// Bodies are filled by hand here, with memsets.
CUresult cuGraphAddMemsetNode(CUgraphNode* made, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS_v1* parameters,
                              CUcontext) {
  const std::lock_guard lock(stub::mutex());
  auto node = std::make_unique<CUgraphNode_st>();
  node->type = CU_GRAPH_NODE_TYPE_MEMSET;
  node->memset = *parameters;
  *made = stub::add_node(graph, std::move(node), dependencies, count);
  return CUDA_SUCCESS;
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode, CUgraph*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  *exec = new CUgraphExec_st;
  (*exec)->graph = stub::copy_of(*graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode*, char*, size_t) {
  return cuGraphInstantiateWithFlags(exec, graph, 0);
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  ++exec->launches;
  if (stream->hangs) return CUDA_SUCCESS;  // it waits for what is before it
  const std::lock_guard lock(stub::mutex());
  const bool slow = std::ranges::any_of(exec->graph->nodes, [](const auto& node) {
    return node->type == CU_GRAPH_NODE_TYPE_KERNEL && node->kernel.func->name == "slow";
  });
  const stub::Replay replay = stub::run(*exec->graph, slow ? stub::Slow::Runs : stub::Slow::Ended);
  if (!slow) {
    stream->hangs = !replay.ended;
    return replay.result;
  }
  std::thread([exec] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    const std::lock_guard later(stub::mutex());
    stub::run(*exec->graph, stub::Slow::Ended);
  }).detach();
  return replay.result;
}
CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
  return cuGraphLaunch(exec, stream);
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  delete exec;
  return CUDA_SUCCESS;
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  for (const auto& one : exec->graph->nodes) {
    if (one->original != node) continue;
    stub::keep_arguments(one.get(), *parameters);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned) {
  const bool known = std::ranges::any_of(exec->graph->nodes,
                                         [node](const auto& one) { return one->original == node; });
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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
    SYMBOL("cuMemAllocFromPoolAsync", 11020, cuMemAllocFromPoolAsync),
    PER_THREAD("cuMemAllocFromPoolAsync", 11020, cuMemAllocFromPoolAsync_ptsz),
    SYMBOL("cuMemPoolCreate", 11020, cuMemPoolCreate),
    SYMBOL("cuMemPoolDestroy", 11020, cuMemPoolDestroy),
    SYMBOL("cuMemPoolTrimTo", 11020, cuMemPoolTrimTo),
    SYMBOL("cuMemCreate", 10020, cuMemCreate),
    SYMBOL("cuMulticastCreate", 12010, cuMulticastCreate),
    SYMBOL("cuMemRelease", 10020, cuMemRelease),
    SYMBOL("cuMemAddressReserve", 10020, cuMemAddressReserve),
    SYMBOL("cuMemMap", 10020, cuMemMap),
    SYMBOL("cuMemSetAccess", 10020, cuMemSetAccess),
    SYMBOL("cuMemUnmap", 10020, cuMemUnmap),
    SYMBOL("cuDevicePrimaryCtxReset", 11000, cuDevicePrimaryCtxReset_v2),
    SYMBOL("cuCtxGetCurrent", 4000, cuCtxGetCurrent),
    SYMBOL("cuCtxSetCurrent", 4000, cuCtxSetCurrent),
    SYMBOL("cuMemAllocHost", 3020, cuMemAllocHost_v2),
    SYMBOL("cuMemFreeHost", 2000, cuMemFreeHost),
    SYMBOL("cuModuleLoadData", 2000, cuModuleLoadData),
    SYMBOL("cuModuleUnload", 2000, cuModuleUnload),
    SYMBOL("cuModuleGetFunction", 2000, cuModuleGetFunction),
    SYMBOL("cuStreamCreate", 2000, cuStreamCreate),
    SYMBOL("cuEventCreate", 2000, cuEventCreate),
    SYMBOL("cuEventRecord", 2000, cuEventRecord),
    PER_THREAD("cuEventRecord", 7000, cuEventRecord_ptsz),
    SYMBOL("cuStreamWaitEvent", 3020, cuStreamWaitEvent),
    PER_THREAD("cuStreamWaitEvent", 7000, cuStreamWaitEvent_ptsz),
    SYMBOL("cuStreamSynchronize", 2000, cuStreamSynchronize),
    PER_THREAD("cuStreamSynchronize", 2000, cuStreamSynchronize_ptsz),
    SYMBOL("cuCtxSynchronize", 2000, cuCtxSynchronize),
    SYMBOL("cuCtxSynchronize", 13000, cuCtxSynchronize_v2),
    SYMBOL("cuStreamBeginCapture", 10010, cuStreamBeginCapture_v2),
    PER_THREAD("cuStreamBeginCapture", 10010, cuStreamBeginCapture_v2_ptsz),
    SYMBOL("cuStreamEndCapture", 10000, cuStreamEndCapture),
    PER_THREAD("cuStreamEndCapture", 10000, cuStreamEndCapture_ptsz),
    SYMBOL("cuLaunchKernel", 4000, cuLaunchKernel),
    SYMBOL("cuLaunchKernelEx", 11060, cuLaunchKernelEx),
    PER_THREAD("cuLaunchKernelEx", 11060, cuLaunchKernelEx_ptsz),
    SYMBOL("cuMemsetD8Async", 3020, cuMemsetD8Async),
    SYMBOL("cuMemcpyHtoDAsync", 3020, cuMemcpyHtoDAsync_v2),
    SYMBOL("cuGraphInstantiate", 11000, cuGraphInstantiate_v2),
    SYMBOL("cuGraphInstantiateWithFlags", 11040, cuGraphInstantiateWithFlags),
    SYMBOL("cuGraphGetNodes", 10000, cuGraphGetNodes),
    SYMBOL("cuGraphAddNode", 12030, cuGraphAddNode_v2),
    SYMBOL("cuGraphAddMemsetNode", 10000, cuGraphAddMemsetNode),
    SYMBOL("cuTensorMapEncodeTiled", 12000, cuTensorMapEncodeTiled),
    SYMBOL("cuTensorMapReplaceAddress", 12000, cuTensorMapReplaceAddress),
    SYMBOL("cuGraphLaunch", 10000, cuGraphLaunch),
    PER_THREAD("cuGraphLaunch", 10000, cuGraphLaunch_ptsz),
    SYMBOL("cuGraphExecDestroy", 10000, cuGraphExecDestroy),
    SYMBOL("cuGraphExecUpdate", 12000, cuGraphExecUpdate_v2),
    SYMBOL("cuGraphExecKernelNodeSetParams", 12000, cuGraphExecKernelNodeSetParams_v2),
    SYMBOL("cuGraphNodeSetEnabled", 11060, cuGraphNodeSetEnabled),
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
