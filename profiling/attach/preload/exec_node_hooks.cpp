// Nodes of executable graphs that the program changes in place. It names them by the nodes of its
// graph; where a marked copy was instantiated instead, the driver knows them by the copy's.
#include "profiling/attach/preload/exec_node_hooks.h"

#include <atomic>
#include <cstdint>

#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/graph_markers.h"
#include "profiling/attach/preload/graph_walk.h"
#include "profiling/attach/preload/spool_file.h"

namespace attach {
namespace {

template <auto Wrapper, class... Arguments>
CUresult on_node(CUgraphExec exec, CUgraphNode node, Arguments... arguments) {
  return real<Wrapper>(exec, node_in(exec, node), arguments...);
}

// A program may switch nodes before every launch: its frames would fill the spool within a minute.
constexpr std::uint32_t kMostNodeCalls = 1U << 14;      // that all get a frame
constexpr std::uint64_t kBetweenCalls = 1'000'000'000;  // ns, of those behind them
constinit std::atomic<std::uint32_t> g_node_calls{0};
constinit std::atomic<std::uint64_t> g_last_node_call{0};  // behind them; ns on CLOCK_MONOTONIC

bool gets_frame() {
  if (g_node_calls.load(std::memory_order_relaxed) < kMostNodeCalls &&
      g_node_calls.fetch_add(1, std::memory_order_relaxed) < kMostNodeCalls)
    return true;
  const std::uint64_t time = now();
  std::uint64_t last = g_last_node_call.load(std::memory_order_relaxed);
  return time >= last + kBetweenCalls &&
         g_last_node_call.compare_exchange_strong(last, time, std::memory_order_relaxed);
}

/// That it was changed gets a frame, by the name that the call has in the runtime.
template <auto Wrapper, class... Arguments>
CUresult set_on_node(const char* call, CUgraphExec exec, CUgraphNode node, Arguments... arguments) {
  const CUresult result = on_node<Wrapper>(exec, node, arguments...);
  if (result != CUDA_SUCCESS || spool_header() == nullptr || !gets_frame()) return result;
  const std::uint32_t bytes = text_bytes(call);
  Frame<spool::NodeCall> frame(bytes);
  if (!frame) return result;
  frame->exec = reinterpret_cast<std::uint64_t>(exec);
  frame->node = reinterpret_cast<std::uint64_t>(node);
  frame->call_bytes = bytes;
  frame.append(call, bytes);
  return result;
}

/// Its new parameters get a frame.
template <class Parameters>
CUresult changed(CUresult result, CUgraphExec exec, CUgraphNode node,
                 const Parameters* parameters) {
  if (result == CUDA_SUCCESS && spool_header() != nullptr) record_change(exec, node, *parameters);
  return result;
}

CUDA_KERNEL_NODE_PARAMS newest_version(const CUDA_KERNEL_NODE_PARAMS_v1& from) {
  CUDA_KERNEL_NODE_PARAMS to{};
  to.func = from.func;
  to.gridDimX = from.gridDimX;
  to.gridDimY = from.gridDimY;
  to.gridDimZ = from.gridDimZ;
  to.blockDimX = from.blockDimX;
  to.blockDimY = from.blockDimY;
  to.blockDimZ = from.blockDimZ;
  to.sharedMemBytes = from.sharedMemBytes;
  to.kernelParams = from.kernelParams;
  to.extra = from.extra;
  return to;
}

}  // namespace

void forget_node_calls_of_parent() {
  g_node_calls.store(0, std::memory_order_relaxed);
  g_last_node_call.store(0, std::memory_order_relaxed);
}

}  // namespace attach

using attach::changed;
using attach::on_node;
using attach::set_on_node;

extern "C" {

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  const CUresult result = on_node<&cuGraphExecKernelNodeSetParams>(exec, node, parameters);
  if (result != CUDA_SUCCESS) return result;
  const CUDA_KERNEL_NODE_PARAMS now = attach::newest_version(*parameters);
  return changed(result, exec, node, &now);
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* parameters) {
  const CUresult result = on_node<&cuGraphExecKernelNodeSetParams_v2>(exec, node, parameters);
  return changed(result, exec, node, parameters);
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* parameters,
                                        CUcontext context) {
  const CUresult result = on_node<&cuGraphExecMemsetNodeSetParams>(exec, node, parameters, context);
  return changed(result, exec, node, parameters);
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D* parameters, CUcontext context) {
  const CUresult result = on_node<&cuGraphExecMemcpyNodeSetParams>(exec, node, parameters, context);
  return changed(result, exec, node, parameters);
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* parameters) {
  return set_on_node<&cuGraphExecHostNodeSetParams>("cudaGraphExecHostNodeSetParams", exec, node,
                                                    parameters);
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return set_on_node<&cuGraphExecChildGraphNodeSetParams>("cudaGraphExecChildGraphNodeSetParams",
                                                          exec, node, child);
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_on_node<&cuGraphExecEventRecordNodeSetEvent>("cudaGraphExecEventRecordNodeSetEvent",
                                                          exec, node, event);
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_on_node<&cuGraphExecEventWaitNodeSetEvent>("cudaGraphExecEventWaitNodeSetEvent", exec,
                                                        node, event);
}
CUresult cuGraphExecExternalSemaphoresSignalNodeSetParams(
    CUgraphExec exec, CUgraphNode node, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS* parameters) {
  return set_on_node<&cuGraphExecExternalSemaphoresSignalNodeSetParams>(
      "cudaGraphExecExternalSemaphoresSignalNodeSetParams", exec, node, parameters);
}
CUresult cuGraphExecExternalSemaphoresWaitNodeSetParams(
    CUgraphExec exec, CUgraphNode node, const CUDA_EXT_SEM_WAIT_NODE_PARAMS* parameters) {
  return set_on_node<&cuGraphExecExternalSemaphoresWaitNodeSetParams>(
      "cudaGraphExecExternalSemaphoresWaitNodeSetParams", exec, node, parameters);
}
CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return set_on_node<&cuGraphExecBatchMemOpNodeSetParams>("cudaGraphExecBatchMemOpNodeSetParams",
                                                          exec, node, parameters);
}
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                  CUgraphNodeParams* parameters) {
  return set_on_node<&cuGraphExecNodeSetParams>("cudaGraphExecNodeSetParams", exec, node,
                                                parameters);
}
CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  return set_on_node<&cuGraphNodeSetEnabled>(
      enabled != 0 ? "cudaGraphNodeSetEnabled (on)" : "cudaGraphNodeSetEnabled (off)", exec, node,
      enabled);
}
CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned* enabled) {
  return on_node<&cuGraphNodeGetEnabled>(exec, node, enabled);
}

}  // extern "C"
