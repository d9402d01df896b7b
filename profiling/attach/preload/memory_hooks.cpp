// Allocations and releases. A release is recorded before the driver's call and an allocation after
// it, so that the order of frames is the order of the memory's owners, also across threads.
#include <cstdint>

#include "profiling/attach/preload/captures.h"
#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/live_memory.h"
#include "profiling/attach/preload/spool_file.h"

namespace attach {
namespace {

using profiling::spool::MemoryKind;

struct StreamOrder {
  CUstream stream = nullptr;
  bool in_capture = false;
};

CUresult allocated(MemoryKind memory, std::uint64_t address, std::uint64_t bytes, CUresult result,
                   StreamOrder order = {}, CUmemoryPool pool = nullptr) {
  if (result != CUDA_SUCCESS) return result;
  if (!order.in_capture) {
    if (memory == MemoryKind::Device) memory_lives(address, bytes);
    if (memory == MemoryKind::Pool) pool_memory_lives(address, bytes);
  }
  Frame<spool::Allocation> frame;
  if (!frame) return result;
  frame->address = address;
  frame->bytes = bytes;
  frame->stream = reinterpret_cast<std::uint64_t>(order.stream);
  frame->pool = reinterpret_cast<std::uint64_t>(pool);
  frame->memory = memory;
  frame->in_capture = order.in_capture ? 1 : 0;
  return result;
}

void releasing(MemoryKind memory, std::uint64_t address, std::uint64_t bytes = 0,
               StreamOrder order = {}) {
  if (address == 0) return;
  if (memory == MemoryKind::Mapped) {
    mapped_memory_ends(address, bytes);
  } else if (!order.in_capture) {
    memory_ends(address);
  }
  Frame<spool::Release> frame;
  if (!frame) return;
  frame->address = address;
  frame->bytes = bytes;
  frame->stream = reinterpret_cast<std::uint64_t>(order.stream);
  frame->memory = memory;
  frame->in_capture = order.in_capture ? 1 : 0;
}

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

}  // namespace
}  // namespace attach

using attach::allocated;
using attach::is_captured;
using attach::MemoryKind;
using attach::noted;
using attach::number;
using attach::real;
using attach::releasing;

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  const CUresult result = noted("cuMemAlloc", real<&cuMemAlloc_v2>(address, bytes));
  return allocated(MemoryKind::Device, result == CUDA_SUCCESS ? *address : 0, bytes, result);
}
CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                            unsigned element) {
  const CUresult result =
      noted("cuMemAllocPitch", real<&cuMemAllocPitch_v2>(address, pitch, width, height, element));
  if (result != CUDA_SUCCESS) return result;
  return allocated(MemoryKind::Device, *address, std::uint64_t{*pitch} * height, result);
}
CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  const CUresult result =
      noted("cuMemAllocManaged", real<&cuMemAllocManaged>(address, bytes, flags));
  return allocated(MemoryKind::Managed, result == CUDA_SUCCESS ? *address : 0, bytes, result);
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  releasing(MemoryKind::Device, address);
  return noted("cuMemFree", real<&cuMemFree_v2>(address));
}

CUresult cuMemAllocHost_v2(void** address, size_t bytes) {
  const CUresult result = noted("cuMemAllocHost", real<&cuMemAllocHost_v2>(address, bytes));
  return allocated(MemoryKind::PinnedHost, result == CUDA_SUCCESS ? number(*address) : 0, bytes,
                   result);
}
CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
  const CUresult result = noted("cuMemHostAlloc", real<&cuMemHostAlloc>(address, bytes, flags));
  return allocated(MemoryKind::PinnedHost, result == CUDA_SUCCESS ? number(*address) : 0, bytes,
                   result);
}
CUresult cuMemFreeHost(void* address) {
  releasing(MemoryKind::PinnedHost, number(address));
  return noted("cuMemFreeHost", real<&cuMemFreeHost>(address));
}
CUresult cuMemHostRegister_v2(void* address, size_t bytes, unsigned flags) {
  const CUresult result =
      noted("cuMemHostRegister", real<&cuMemHostRegister_v2>(address, bytes, flags));
  return allocated(MemoryKind::RegisteredHost, number(address), bytes, result);
}
CUresult cuMemHostUnregister(void* address) {
  releasing(MemoryKind::RegisteredHost, number(address));
  return noted("cuMemHostUnregister", real<&cuMemHostUnregister>(address));
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  const bool captured = is_captured(stream, false);
  const CUresult result = real<&cuMemAllocAsync>(address, bytes, stream);
  return allocated(MemoryKind::Pool, result == CUDA_SUCCESS ? *address : 0, bytes, result,
                   {stream, captured});
}
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* address, size_t bytes, CUstream stream) {
  const bool captured = is_captured(stream, true);
  const CUresult result = real<&cuMemAllocAsync_ptsz>(address, bytes, stream);
  return allocated(MemoryKind::Pool, result == CUDA_SUCCESS ? *address : 0, bytes, result,
                   {stream, captured});
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  const bool captured = is_captured(stream, false);
  const CUresult result = real<&cuMemAllocFromPoolAsync>(address, bytes, pool, stream);
  return allocated(MemoryKind::Pool, result == CUDA_SUCCESS ? *address : 0, bytes, result,
                   {stream, captured}, pool);
}
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                      CUstream stream) {
  const bool captured = is_captured(stream, true);
  const CUresult result = real<&cuMemAllocFromPoolAsync_ptsz>(address, bytes, pool, stream);
  return allocated(MemoryKind::Pool, result == CUDA_SUCCESS ? *address : 0, bytes, result,
                   {stream, captured}, pool);
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  releasing(MemoryKind::Pool, address, 0, {stream, is_captured(stream, false)});
  return real<&cuMemFreeAsync>(address, stream);
}
CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
  releasing(MemoryKind::Pool, address, 0, {stream, is_captured(stream, true)});
  return real<&cuMemFreeAsync_ptsz>(address, stream);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long flags) {
  const CUresult result = real<&cuMemCreate>(handle, bytes, properties, flags);
  if (result == CUDA_SUCCESS) attach::physical_memory_made(*handle, *properties);
  return result;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  attach::physical_memory_ends(handle);
  return real<&cuMemRelease>(handle);
}
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  const CUresult result = real<&cuMemMap>(address, bytes, offset, handle, flags);
  if (result == CUDA_SUCCESS) attach::memory_is_mapped(address, bytes, handle);
  return allocated(MemoryKind::Mapped, address, bytes, result);
}
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access,
                        size_t count) {
  attach::access_is_taken(address, bytes, access, count);
  const CUresult result = real<&cuMemSetAccess>(address, bytes, access, count);
  if (result == CUDA_SUCCESS) attach::access_is_given(address, bytes, access, count);
  return result;
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  releasing(MemoryKind::Mapped, address, bytes);
  return noted("cuMemUnmap", real<&cuMemUnmap>(address, bytes));
}
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  const CUresult result =
      noted("cuIpcOpenMemHandle", real<&cuIpcOpenMemHandle_v2>(address, handle, flags));
  return allocated(MemoryKind::Ipc, result == CUDA_SUCCESS ? *address : 0, 0, result);
}
CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  releasing(MemoryKind::Ipc, address);
  return noted("cuIpcCloseMemHandle", real<&cuIpcCloseMemHandle>(address));
}

}  // extern "C"
