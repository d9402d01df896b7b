#include "profiling/attach/preload/entry_points.h"

#include <dlfcn.h>
#include <cstring>

#include "profiling/attach/preload/communicators.h"
#include "profiling/attach/preload/real_symbols.h"

namespace attach {
namespace {

constexpr std::uint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
constexpr std::uint64_t kLegacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM;

// symbol, name, version, per thread. Versions: cudaTypedefs.h.
#define ENTRY(symbol, name, version, per_thread) \
  {#symbol, name, version, per_thread, reinterpret_cast<void*>(&symbol), &real_address<&symbol>}
const EntryPoint kEntryPoints[] = {
    ENTRY(cuGetProcAddress, "cuGetProcAddress", 11030, false),
    ENTRY(cuGetProcAddress_v2, "cuGetProcAddress", 12000, false),
    ENTRY(cuInit, "cuInit", 2000, false),

    ENTRY(cuGraphInstantiate, "cuGraphInstantiate", 10000, false),
    ENTRY(cuGraphInstantiate_v2, "cuGraphInstantiate", 11000, false),
    ENTRY(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040, false),
    ENTRY(cuGraphInstantiateWithParams, "cuGraphInstantiateWithParams", 12000, false),
    ENTRY(cuGraphInstantiateWithParams_ptsz, "cuGraphInstantiateWithParams", 12000, true),
    ENTRY(cuGraphAddNode, "cuGraphAddNode", 12020, false),
    ENTRY(cuGraphAddNode_v2, "cuGraphAddNode", 12030, false),
    ENTRY(cuGraphExecUpdate, "cuGraphExecUpdate", 10020, false),
    ENTRY(cuGraphExecUpdate_v2, "cuGraphExecUpdate", 12000, false),
    ENTRY(cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams", 10010, false),
    ENTRY(cuGraphExecKernelNodeSetParams_v2, "cuGraphExecKernelNodeSetParams", 12000, false),
    ENTRY(cuGraphExecMemsetNodeSetParams, "cuGraphExecMemsetNodeSetParams", 10020, false),
    ENTRY(cuGraphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams", 10020, false),
    ENTRY(cuGraphExecHostNodeSetParams, "cuGraphExecHostNodeSetParams", 10020, false),
    ENTRY(cuGraphExecChildGraphNodeSetParams, "cuGraphExecChildGraphNodeSetParams", 11010, false),
    ENTRY(cuGraphExecEventRecordNodeSetEvent, "cuGraphExecEventRecordNodeSetEvent", 11010, false),
    ENTRY(cuGraphExecEventWaitNodeSetEvent, "cuGraphExecEventWaitNodeSetEvent", 11010, false),
    ENTRY(cuGraphExecExternalSemaphoresSignalNodeSetParams,
          "cuGraphExecExternalSemaphoresSignalNodeSetParams", 11020, false),
    ENTRY(cuGraphExecExternalSemaphoresWaitNodeSetParams,
          "cuGraphExecExternalSemaphoresWaitNodeSetParams", 11020, false),
    ENTRY(cuGraphExecBatchMemOpNodeSetParams, "cuGraphExecBatchMemOpNodeSetParams", 11070, false),
    ENTRY(cuGraphExecNodeSetParams, "cuGraphExecNodeSetParams", 12020, false),
    ENTRY(cuGraphNodeSetEnabled, "cuGraphNodeSetEnabled", 11060, false),
    ENTRY(cuGraphNodeGetEnabled, "cuGraphNodeGetEnabled", 11060, false),
    ENTRY(cuGraphExecDestroy, "cuGraphExecDestroy", 10000, false),
    ENTRY(cuGraphLaunch, "cuGraphLaunch", 10000, false),
    ENTRY(cuGraphLaunch_ptsz, "cuGraphLaunch", 10000, true),

    ENTRY(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010, false),
    ENTRY(cuStreamBeginCapture_v2_ptsz, "cuStreamBeginCapture", 10010, true),
    ENTRY(cuStreamBeginCaptureToGraph, "cuStreamBeginCaptureToGraph", 12030, false),
    ENTRY(cuStreamBeginCaptureToGraph_ptsz, "cuStreamBeginCaptureToGraph", 12030, true),
    ENTRY(cuStreamEndCapture, "cuStreamEndCapture", 10000, false),
    ENTRY(cuStreamEndCapture_ptsz, "cuStreamEndCapture", 10000, true),
    ENTRY(cuCtxSynchronize, "cuCtxSynchronize", 2000, false),
    ENTRY(cuCtxSynchronize_v2, "cuCtxSynchronize", 13000, false),
    ENTRY(cuStreamSynchronize, "cuStreamSynchronize", 2000, false),
    ENTRY(cuStreamSynchronize_ptsz, "cuStreamSynchronize", 7000, true),
    ENTRY(cuStreamQuery, "cuStreamQuery", 2000, false),
    ENTRY(cuStreamQuery_ptsz, "cuStreamQuery", 7000, true),
    ENTRY(cuEventSynchronize, "cuEventSynchronize", 2000, false),
    ENTRY(cuEventQuery, "cuEventQuery", 2000, false),

    ENTRY(cuLaunchKernel, "cuLaunchKernel", 4000, false),
    ENTRY(cuLaunchKernel_ptsz, "cuLaunchKernel", 7000, true),
    ENTRY(cuLaunchKernelEx, "cuLaunchKernelEx", 11060, false),
    ENTRY(cuLaunchKernelEx_ptsz, "cuLaunchKernelEx", 11060, true),
    ENTRY(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 9000, false),
    ENTRY(cuLaunchCooperativeKernel_ptsz, "cuLaunchCooperativeKernel", 9000, true),
    ENTRY(cuMemsetD8Async, "cuMemsetD8Async", 3020, false),
    ENTRY(cuMemsetD8Async_ptsz, "cuMemsetD8Async", 7000, true),
    ENTRY(cuMemsetD32Async, "cuMemsetD32Async", 3020, false),
    ENTRY(cuMemsetD32Async_ptsz, "cuMemsetD32Async", 7000, true),
    ENTRY(cuMemcpyAsync, "cuMemcpyAsync", 4000, false),
    ENTRY(cuMemcpyAsync_ptsz, "cuMemcpyAsync", 7000, true),
    ENTRY(cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 3020, false),
    ENTRY(cuMemcpyHtoDAsync_v2_ptsz, "cuMemcpyHtoDAsync", 7000, true),
    ENTRY(cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 3020, false),
    ENTRY(cuMemcpyDtoHAsync_v2_ptsz, "cuMemcpyDtoHAsync", 7000, true),
    ENTRY(cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync", 3020, false),
    ENTRY(cuMemcpyDtoDAsync_v2_ptsz, "cuMemcpyDtoDAsync", 7000, true),

    ENTRY(cuMemAlloc_v2, "cuMemAlloc", 3020, false),
    ENTRY(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, false),
    ENTRY(cuMemAllocManaged, "cuMemAllocManaged", 6000, false),
    ENTRY(cuMemFree_v2, "cuMemFree", 3020, false),
    ENTRY(cuMemAllocHost_v2, "cuMemAllocHost", 3020, false),
    ENTRY(cuMemHostAlloc, "cuMemHostAlloc", 2020, false),
    ENTRY(cuMemFreeHost, "cuMemFreeHost", 2000, false),
    ENTRY(cuMemHostRegister_v2, "cuMemHostRegister", 6050, false),
    ENTRY(cuMemHostUnregister, "cuMemHostUnregister", 4000, false),
    ENTRY(cuMemAllocAsync, "cuMemAllocAsync", 11020, false),
    ENTRY(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 11020, true),
    ENTRY(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, false),
    ENTRY(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", 11020, true),
    ENTRY(cuMemFreeAsync, "cuMemFreeAsync", 11020, false),
    ENTRY(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 11020, true),
    ENTRY(cuMemCreate, "cuMemCreate", 10020, false),
    ENTRY(cuMemRelease, "cuMemRelease", 10020, false),
    ENTRY(cuMemMap, "cuMemMap", 10020, false),
    ENTRY(cuMemSetAccess, "cuMemSetAccess", 10020, false),
    ENTRY(cuMemUnmap, "cuMemUnmap", 10020, false),
    ENTRY(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 11000, false),
    ENTRY(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 4010, false),

    ENTRY(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled", 12000, false),
    ENTRY(cuTensorMapEncodeIm2col, "cuTensorMapEncodeIm2col", 12000, false),
    ENTRY(cuTensorMapEncodeIm2colWide, "cuTensorMapEncodeIm2colWide", 12080, false),
    ENTRY(cuTensorMapReplaceAddress, "cuTensorMapReplaceAddress", 12000, false),

    ENTRY(cuModuleLoad, "cuModuleLoad", 2000, false),
    ENTRY(cuModuleLoadData, "cuModuleLoadData", 2000, false),
    ENTRY(cuModuleLoadDataEx, "cuModuleLoadDataEx", 2010, false),
    ENTRY(cuLibraryLoadData, "cuLibraryLoadData", 12000, false),
    ENTRY(cuLibraryLoadFromFile, "cuLibraryLoadFromFile", 12000, false),
    ENTRY(cuModuleUnload, "cuModuleUnload", 2000, false),
    ENTRY(cuLibraryUnload, "cuLibraryUnload", 12000, false),
};
#undef ENTRY

/// libcuda's handle, which stays open as long as the process has it; null = not loaded.
void* driver_library() {
  static constinit std::atomic<void*> library{nullptr};
  void* handle = library.load(std::memory_order_acquire);
  if (handle == nullptr) {
    handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) library.store(handle, std::memory_order_release);
  }
  return handle;
}

/// A program may have functions of its own with the driver's names, in a shim for example: they are
/// left alone.
bool is_drivers(void* address) {
  Dl_info where{};
  if (dladdr(address, &where) == 0 || where.dli_fname == nullptr) return false;
  const char* slash = std::strrchr(where.dli_fname, '/');
  const char* file = slash == nullptr ? where.dli_fname : slash + 1;
  return std::strncmp(file, "libcuda.so", 10) == 0;
}

}  // namespace

void* driver_symbol(const char* symbol) {
  void* library = driver_library();
  return library == nullptr ? nullptr : real_dlsym(library, symbol);
}

void* look_up(std::atomic<void*>& real) {
  for (const EntryPoint& entry : kEntryPoints) {
    if (entry.real != &real) continue;
    void* address = driver_symbol(entry.symbol);
    if (address != nullptr) real.store(address, std::memory_order_release);
    return address;
  }
  return nullptr;
}

void* wrapped(const char* name, std::uint64_t flags, void* found, Ask ask) {
  for (const EntryPoint& entry : kEntryPoints) {
    if (std::strcmp(entry.name, name) != 0) continue;
    if (found == entry.wrapper) return found;
    if (entry.per_thread && (flags & kPerThread) == 0) continue;
    const std::uint64_t variant = entry.per_thread ? kPerThread : kLegacy;
    if (ask(entry.name, entry.version, variant) != found) continue;
    entry.real->store(found, std::memory_order_release);
    return entry.wrapper;
  }
  return found;
}

}  // namespace attach

/// For the trampoline of dlsym (real_symbols.cpp): the wrapper of `symbol`, if `handle` has the
/// driver's; else null, and dlsym goes on as if this library were not there.
extern "C" void* expertscope_attach_wrapped(void* handle, const char* symbol) {
  using attach::kEntryPoints;
  // RTLD_DEFAULT and RTLD_NEXT depend on the caller: the jump to the real function keeps it.
  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT || symbol == nullptr) return nullptr;
  if (std::strncmp(symbol, "nccl", 4) == 0) return attach::communicator_call(handle, symbol);
  if (symbol[0] != 'c' || symbol[1] != 'u' || symbol[2] < 'A' || symbol[2] > 'Z') return nullptr;
  for (const attach::EntryPoint& entry : kEntryPoints) {
    if (std::strcmp(entry.symbol, symbol) != 0) continue;
    void* found = attach::real_dlsym(handle, symbol);
    if (found == entry.wrapper) return found;
    if (found == nullptr || !attach::is_drivers(found)) return nullptr;
    entry.real->store(found, std::memory_order_release);
    return entry.wrapper;
  }
  return nullptr;
}
