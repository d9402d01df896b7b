// The driver's functions as programs reach them: linked, through dlsym, or through cuGetProcAddress
// as the CUDA runtime does, with one default stream for all threads or one per thread.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

struct DriverCalls {
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuMemAlloc) mem_alloc = nullptr;
  decltype(&::cuMemFree) mem_free = nullptr;
  decltype(&::cuMemAllocAsync) mem_alloc_async = nullptr;
  decltype(&::cuMemFreeAsync) mem_free_async = nullptr;
  decltype(&::cuMemPoolCreate) pool_create = nullptr;
  decltype(&::cuMemPoolDestroy) pool_destroy = nullptr;
  decltype(&::cuMemPoolTrimTo) pool_trim = nullptr;
  decltype(&::cuMemAllocFromPoolAsync) mem_alloc_from_pool = nullptr;
  decltype(&::cuMemAllocHost) mem_alloc_host = nullptr;
  decltype(&::cuMemFreeHost) mem_free_host = nullptr;
  decltype(&::cuModuleLoadData) module_load = nullptr;
  decltype(&::cuModuleUnload) module_unload = nullptr;
  decltype(&::cuModuleGetFunction) module_function = nullptr;
  decltype(&::cuStreamCreate) stream_create = nullptr;
  decltype(&::cuEventCreate) event_create = nullptr;
  decltype(&::cuEventRecord) event_record = nullptr;
  decltype(&::cuStreamWaitEvent) wait_event = nullptr;
  decltype(&::cuStreamSynchronize) stream_synchronize = nullptr;
  decltype(&::cuCtxSynchronize_v2) context_synchronize = nullptr;
  decltype(&::cuStreamBeginCapture) begin_capture = nullptr;
  decltype(&::cuStreamEndCapture) end_capture = nullptr;
  decltype(&::cuLaunchKernel) launch_kernel = nullptr;
  decltype(&::cuLaunchKernelEx) launch_kernel_ex = nullptr;
  decltype(&::cuMemsetD8Async) memset_async = nullptr;
  decltype(&::cuMemcpyHtoDAsync) copy_async = nullptr;
  decltype(&::cuGraphInstantiateWithFlags) instantiate = nullptr;
  decltype(&::cuGraphGetNodes) get_nodes = nullptr;
  decltype(&::cuGraphLaunch) launch = nullptr;
  decltype(&::cuGraphExecDestroy) destroy = nullptr;
  decltype(&::cuGraphExecUpdate) update = nullptr;
  decltype(&::cuGraphExecKernelNodeSetParams) set_kernel = nullptr;
  decltype(&::cuGraphNodeSetEnabled) set_enabled = nullptr;
  decltype(&::cuGraphAddNode) add_node = nullptr;
  decltype(&::cuGraphAddMemsetNode) add_memset = nullptr;
  decltype(&::cuMemCreate) mem_create = nullptr;
  decltype(&::cuMulticastCreate) multicast_create = nullptr;
  decltype(&::cuMemRelease) mem_release = nullptr;
  decltype(&::cuMemAddressReserve) reserve_addresses = nullptr;
  decltype(&::cuMemMap) mem_map = nullptr;
  decltype(&::cuMemSetAccess) set_access = nullptr;
  decltype(&::cuMemUnmap) mem_unmap = nullptr;
  decltype(&::cuDevicePrimaryCtxReset) reset_context = nullptr;
  decltype(&::cuTensorMapEncodeTiled) encode_tiled = nullptr;
  decltype(&::cuTensorMapReplaceAddress) replace_address = nullptr;
  decltype(&::cuCtxGetCurrent) get_current = nullptr;
  decltype(&::cuCtxSetCurrent) set_current = nullptr;
};

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(9);
}

inline void check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) fail(std::string(what) + " gave " + std::to_string(result));
}

#ifdef LINKED
inline DriverCalls driver_calls(const std::string&) {
  return {cuInit,
          cuMemAlloc,
          cuMemFree,
          cuMemAllocAsync,
          cuMemFreeAsync,
          cuMemPoolCreate,
          cuMemPoolDestroy,
          cuMemPoolTrimTo,
          cuMemAllocFromPoolAsync,
          cuMemAllocHost,
          cuMemFreeHost,
          cuModuleLoadData,
          cuModuleUnload,
          cuModuleGetFunction,
          cuStreamCreate,
          cuEventCreate,
          cuEventRecord,
          cuStreamWaitEvent,
          cuStreamSynchronize,
          cuCtxSynchronize_v2,
          cuStreamBeginCapture,
          cuStreamEndCapture,
          cuLaunchKernel,
          cuLaunchKernelEx,
          cuMemsetD8Async,
          cuMemcpyHtoDAsync,
          cuGraphInstantiateWithFlags,
          cuGraphGetNodes,
          cuGraphLaunch,
          cuGraphExecDestroy,
          cuGraphExecUpdate,
          cuGraphExecKernelNodeSetParams,
          cuGraphNodeSetEnabled,
          cuGraphAddNode,
          cuGraphAddMemsetNode,
          cuMemCreate,
          cuMulticastCreate,
          cuMemRelease,
          cuMemAddressReserve,
          cuMemMap,
          cuMemSetAccess,
          cuMemUnmap,
          cuDevicePrimaryCtxReset,
          cuTensorMapEncodeTiled,
          cuTensorMapReplaceAddress,
          cuCtxGetCurrent,
          cuCtxSetCurrent};
}
#else
/// `way`: "dlsym", "getproc" or "getproc-per-thread".
inline DriverCalls driver_calls(const std::string& way) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) fail(dlerror());
  const auto get =
      reinterpret_cast<decltype(&::cuGetProcAddress)>(dlsym(library, "cuGetProcAddress_v2"));
  // As the runtime does: the function that finds functions is looked up through itself again.
  decltype(&::cuGetProcAddress) get_again = nullptr;
  if (get == nullptr) fail("cuGetProcAddress_v2 is missing");
  check(get("cuGetProcAddress", reinterpret_cast<void**>(&get_again), 12000, 0, nullptr),
        "cuGetProcAddress");
  const cuuint64_t flags =
      way == "getproc-per-thread" ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : 0;
  const auto find = [&](auto& function, const char* name, const char* symbol, int version) {
    void* found = nullptr;
    if (way == "dlsym") {
      found = dlsym(library, symbol);
    } else {
      get_again(name, &found, version, flags, nullptr);
    }
    if (found == nullptr) fail(std::string(name) + " is missing");
    std::memcpy(&function, &found, sizeof found);
  };
  DriverCalls calls;
  find(calls.init, "cuInit", "cuInit", 2000);
  find(calls.mem_alloc, "cuMemAlloc", "cuMemAlloc_v2", 3020);
  find(calls.mem_free, "cuMemFree", "cuMemFree_v2", 3020);
  find(calls.mem_alloc_async, "cuMemAllocAsync", "cuMemAllocAsync", 11020);
  find(calls.mem_free_async, "cuMemFreeAsync", "cuMemFreeAsync", 11020);
  find(calls.pool_create, "cuMemPoolCreate", "cuMemPoolCreate", 11020);
  find(calls.pool_destroy, "cuMemPoolDestroy", "cuMemPoolDestroy", 11020);
  find(calls.pool_trim, "cuMemPoolTrimTo", "cuMemPoolTrimTo", 11020);
  find(calls.mem_alloc_from_pool, "cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync", 11020);
  find(calls.mem_alloc_host, "cuMemAllocHost", "cuMemAllocHost_v2", 3020);
  find(calls.mem_free_host, "cuMemFreeHost", "cuMemFreeHost", 2000);
  find(calls.module_load, "cuModuleLoadData", "cuModuleLoadData", 2000);
  find(calls.module_unload, "cuModuleUnload", "cuModuleUnload", 2000);
  find(calls.module_function, "cuModuleGetFunction", "cuModuleGetFunction", 2000);
  find(calls.stream_create, "cuStreamCreate", "cuStreamCreate", 2000);
  find(calls.event_create, "cuEventCreate", "cuEventCreate", 2000);
  find(calls.event_record, "cuEventRecord", "cuEventRecord", 2000);
  find(calls.wait_event, "cuStreamWaitEvent", "cuStreamWaitEvent", 3020);
  find(calls.stream_synchronize, "cuStreamSynchronize", "cuStreamSynchronize", 2000);
  find(calls.context_synchronize, "cuCtxSynchronize", "cuCtxSynchronize_v2", 13000);
  find(calls.begin_capture, "cuStreamBeginCapture", "cuStreamBeginCapture_v2", 10010);
  find(calls.end_capture, "cuStreamEndCapture", "cuStreamEndCapture", 10000);
  find(calls.launch_kernel, "cuLaunchKernel", "cuLaunchKernel", 4000);
  find(calls.launch_kernel_ex, "cuLaunchKernelEx", "cuLaunchKernelEx", 11060);
  find(calls.memset_async, "cuMemsetD8Async", "cuMemsetD8Async", 3020);
  find(calls.copy_async, "cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", 3020);
  find(calls.instantiate, "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags", 11040);
  find(calls.get_nodes, "cuGraphGetNodes", "cuGraphGetNodes", 10000);
  find(calls.launch, "cuGraphLaunch", "cuGraphLaunch", 10000);
  find(calls.destroy, "cuGraphExecDestroy", "cuGraphExecDestroy", 10000);
  find(calls.update, "cuGraphExecUpdate", "cuGraphExecUpdate_v2", 12000);
  find(calls.set_kernel, "cuGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams_v2",
       12000);
  find(calls.set_enabled, "cuGraphNodeSetEnabled", "cuGraphNodeSetEnabled", 11060);
  find(calls.add_node, "cuGraphAddNode", "cuGraphAddNode_v2", 12030);
  find(calls.add_memset, "cuGraphAddMemsetNode", "cuGraphAddMemsetNode", 10000);
  find(calls.mem_create, "cuMemCreate", "cuMemCreate", 10020);
  find(calls.multicast_create, "cuMulticastCreate", "cuMulticastCreate", 12010);
  find(calls.mem_release, "cuMemRelease", "cuMemRelease", 10020);
  find(calls.reserve_addresses, "cuMemAddressReserve", "cuMemAddressReserve", 10020);
  find(calls.mem_map, "cuMemMap", "cuMemMap", 10020);
  find(calls.set_access, "cuMemSetAccess", "cuMemSetAccess", 10020);
  find(calls.mem_unmap, "cuMemUnmap", "cuMemUnmap", 10020);
  find(calls.reset_context, "cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2", 11000);
  find(calls.encode_tiled, "cuTensorMapEncodeTiled", "cuTensorMapEncodeTiled", 12000);
  find(calls.replace_address, "cuTensorMapReplaceAddress", "cuTensorMapReplaceAddress", 12000);
  find(calls.get_current, "cuCtxGetCurrent", "cuCtxGetCurrent", 4000);
  find(calls.set_current, "cuCtxSetCurrent", "cuCtxSetCurrent", 4000);
  return calls;
}
#endif
