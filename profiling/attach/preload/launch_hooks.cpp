// Calls that become nodes of a graph while their stream is captured: who made them is noted then.
// Otherwise they only pass through; of kernels, the arguments are kept while nothing is captured.
#include "profiling/attach/preload/captures.h"
#include "profiling/attach/preload/eager_launches.h"
#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/stacks.h"

namespace attach {
namespace {

enum class DefaultStream : bool { OfProcess, OfThread };

template <auto Wrapper, DefaultStream kDefault, class... Arguments>
CUresult launched(CUstream stream, Arguments... arguments) {
  const CUresult result = real<Wrapper>(arguments...);
  constexpr bool kPerThread = kDefault == DefaultStream::OfThread;
  if (result == CUDA_SUCCESS && is_captured(stream, kPerThread)) note_stack(stream, kPerThread);
  return result;
}

struct KernelCall {
  CUfunction function;
  LaunchShape shape;
  void** parameters;
  void** extra;
};

KernelCall call_of(const CUlaunchConfig& config, CUfunction function, void** parameters,
                   void** extra) {
  return {.function = function,
          .shape = {.grid = {config.gridDimX, config.gridDimY, config.gridDimZ},
                    .block = {config.blockDimX, config.blockDimY, config.blockDimZ},
                    .shared_bytes = config.sharedMemBytes},
          .parameters = parameters,
          .extra = extra};
}

template <auto Wrapper, DefaultStream kDefault, class... Arguments>
CUresult launched_kernel(const KernelCall& call, CUstream stream, Arguments... arguments) {
  const CUresult result = real<Wrapper>(arguments...);
  if (result != CUDA_SUCCESS) return result;
  if (!any_capture()) {
    note_eager_launch(call.function, call.shape, call.parameters, call.extra);
    return result;
  }
  constexpr bool kPerThread = kDefault == DefaultStream::OfThread;
  if (is_captured(stream, kPerThread)) note_stack(stream, kPerThread);
  return result;
}

}  // namespace
}  // namespace attach

using attach::launched;
using attach::launched_kernel;
constexpr attach::DefaultStream kOfProcess = attach::DefaultStream::OfProcess;
constexpr attach::DefaultStream kOfThread = attach::DefaultStream::OfThread;

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void** parameters, void** extra) {
  return launched_kernel<&cuLaunchKernel, kOfProcess>(
      {.function = function,
       .shape = {.grid = {grid_x, grid_y, grid_z},
                 .block = {block_x, block_y, block_z},
                 .shared_bytes = shared},
       .parameters = parameters,
       .extra = extra},
      stream, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
      parameters, extra);
}
CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                             CUstream stream, void** parameters, void** extra) {
  return launched_kernel<&cuLaunchKernel_ptsz, kOfThread>(
      {.function = function,
       .shape = {.grid = {grid_x, grid_y, grid_z},
                 .block = {block_x, block_y, block_z},
                 .shared_bytes = shared},
       .parameters = parameters,
       .extra = extra},
      stream, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
      parameters, extra);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  return launched_kernel<&cuLaunchKernelEx, kOfProcess>(
      attach::call_of(*config, function, parameters, extra), config->hStream, config, function,
      parameters, extra);
}
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** parameters,
                               void** extra) {
  return launched_kernel<&cuLaunchKernelEx_ptsz, kOfThread>(
      attach::call_of(*config, function, parameters, extra), config->hStream, config, function,
      parameters, extra);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream stream,
                                   void** parameters) {
  return launched_kernel<&cuLaunchCooperativeKernel, kOfProcess>(
      {.function = function,
       .shape = {.grid = {grid_x, grid_y, grid_z},
                 .block = {block_x, block_y, block_z},
                 .shared_bytes = shared},
       .parameters = parameters,
       .extra = nullptr},
      stream, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
      parameters);
}
CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y,
                                        unsigned grid_z, unsigned block_x, unsigned block_y,
                                        unsigned block_z, unsigned shared, CUstream stream,
                                        void** parameters) {
  return launched_kernel<&cuLaunchCooperativeKernel_ptsz, kOfThread>(
      {.function = function,
       .shape = {.grid = {grid_x, grid_y, grid_z},
                 .block = {block_x, block_y, block_z},
                 .shared_bytes = shared},
       .parameters = parameters,
       .extra = nullptr},
      stream, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
      parameters);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return launched<&cuMemsetD8Async, kOfProcess>(stream, to, value, count, stream);
}
CUresult cuMemsetD8Async_ptsz(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return launched<&cuMemsetD8Async_ptsz, kOfThread>(stream, to, value, count, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return launched<&cuMemsetD32Async, kOfProcess>(stream, to, value, count, stream);
}
CUresult cuMemsetD32Async_ptsz(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return launched<&cuMemsetD32Async_ptsz, kOfThread>(stream, to, value, count, stream);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return launched<&cuMemcpyAsync, kOfProcess>(stream, to, from, bytes, stream);
}
CUresult cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return launched<&cuMemcpyAsync_ptsz, kOfThread>(stream, to, from, bytes, stream);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return launched<&cuMemcpyHtoDAsync_v2, kOfProcess>(stream, to, from, bytes, stream);
}
CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr to, const void* from, size_t bytes,
                                   CUstream stream) {
  return launched<&cuMemcpyHtoDAsync_v2_ptsz, kOfThread>(stream, to, from, bytes, stream);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return launched<&cuMemcpyDtoHAsync_v2, kOfProcess>(stream, to, from, bytes, stream);
}
CUresult cuMemcpyDtoHAsync_v2_ptsz(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return launched<&cuMemcpyDtoHAsync_v2_ptsz, kOfThread>(stream, to, from, bytes, stream);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return launched<&cuMemcpyDtoDAsync_v2, kOfProcess>(stream, to, from, bytes, stream);
}
CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                   CUstream stream) {
  return launched<&cuMemcpyDtoDAsync_v2_ptsz, kOfThread>(stream, to, from, bytes, stream);
}

}  // extern "C"
