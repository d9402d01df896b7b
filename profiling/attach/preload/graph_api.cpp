#include "profiling/attach/preload/graph_api.h"

#include <atomic>

#include "profiling/attach/preload/entry_points.h"

namespace attach {
const GraphApi& graph_api() {
  static constinit GraphApi api{};
  static constinit std::atomic<bool> ready{false};
  static constinit std::atomic_flag busy = ATOMIC_FLAG_INIT;
  while (!ready.load(std::memory_order_acquire)) {
    if (busy.test_and_set(std::memory_order_acquire)) continue;
    if (!ready.load(std::memory_order_relaxed)) {
      api.complete = find_call(api.get_nodes, "cuGraphGetNodes") &
                     find_call(api.get_type, "cuGraphNodeGetType") &
                     find_call(api.get_kernel, "cuGraphKernelNodeGetParams_v2") &
                     find_call(api.get_memset, "cuGraphMemsetNodeGetParams") &
                     find_call(api.get_memcpy, "cuGraphMemcpyNodeGetParams") &
                     find_call(api.get_alloc, "cuGraphMemAllocNodeGetParams") &
                     find_call(api.get_free, "cuGraphMemFreeNodeGetParams") &
                     find_call(api.get_child, "cuGraphChildGraphNodeGetGraph") &
                     find_call(api.get_edges, "cuGraphGetEdges_v2") &
                     find_call(api.function_parameter, "cuFuncGetParamInfo") &
                     find_call(api.function_name, "cuFuncGetName") &
                     find_call(api.pointer_attribute, "cuPointerGetAttribute") &
                     find_call(api.exchange_mode, "cuThreadExchangeStreamCaptureMode");
      find_call(api.get_parameters, "cuGraphNodeGetParams");
      find_call(api.get_attribute, "cuGraphKernelNodeGetAttribute");
      find_call(api.kernel_parameter, "cuKernelGetParamInfo");
      find_call(api.kernel_name, "cuKernelGetName");
      find_call(api.function_module, "cuFuncGetModule");
      find_call(api.kernel_library, "cuKernelGetLibrary");
      ready.store(true, std::memory_order_release);
    }
    busy.clear(std::memory_order_release);
  }
  return api;
}

}  // namespace attach
