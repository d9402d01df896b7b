#include "profiling/attach/preload/graph_api.h"

#include <atomic>

#include "profiling/attach/preload/entry_points.h"

namespace attach {
namespace {

template <class Function>
bool find(Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(driver_symbol(symbol));
  return function != nullptr;
}

}  // namespace

const GraphApi& graph_api() {
  static constinit GraphApi api{};
  static constinit std::atomic<bool> ready{false};
  static constinit std::atomic_flag busy = ATOMIC_FLAG_INIT;
  while (!ready.load(std::memory_order_acquire)) {
    if (busy.test_and_set(std::memory_order_acquire)) continue;
    if (!ready.load(std::memory_order_relaxed)) {
      api.complete = find(api.get_nodes, "cuGraphGetNodes") &
                     find(api.get_type, "cuGraphNodeGetType") &
                     find(api.get_kernel, "cuGraphKernelNodeGetParams_v2") &
                     find(api.get_memset, "cuGraphMemsetNodeGetParams") &
                     find(api.get_memcpy, "cuGraphMemcpyNodeGetParams") &
                     find(api.get_alloc, "cuGraphMemAllocNodeGetParams") &
                     find(api.get_free, "cuGraphMemFreeNodeGetParams") &
                     find(api.get_child, "cuGraphChildGraphNodeGetGraph") &
                     find(api.get_edges, "cuGraphGetEdges_v2") &
                     find(api.function_parameter, "cuFuncGetParamInfo") &
                     find(api.function_name, "cuFuncGetName") &
                     find(api.pointer_attribute, "cuPointerGetAttribute") &
                     find(api.exchange_mode, "cuThreadExchangeStreamCaptureMode");
      find(api.get_parameters, "cuGraphNodeGetParams");
      find(api.get_attribute, "cuGraphKernelNodeGetAttribute");
      find(api.kernel_parameter, "cuKernelGetParamInfo");
      find(api.kernel_name, "cuKernelGetName");
      find(api.function_module, "cuFuncGetModule");
      find(api.kernel_library, "cuKernelGetLibrary");
      ready.store(true, std::memory_order_release);
    }
    busy.clear(std::memory_order_release);
  }
  return api;
}

}  // namespace attach
