// Allocation of device and pinned memory.
#include "engine/device/buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace engine {
namespace {

constexpr std::int64_t kSmallestAllocation = 256;

}  // namespace

DeviceBuffer::~DeviceBuffer() {
  if (pointer_ == nullptr) return;
  AllocationLedger::of_process().released(pointer_);
  (void)cudaFree(pointer_);
}

PinnedBuffer::~PinnedBuffer() {
  if (pointer_ == nullptr) return;
  AllocationLedger::of_process().released(pointer_);
  (void)cudaFreeHost(pointer_);
}

Result<DeviceBuffer> DeviceBuffer::allocate(std::int64_t bytes, AllocationLabel label) {
  DeviceBuffer buffer;
  buffer.bytes_ = static_cast<std::size_t>(std::max(bytes, kSmallestAllocation));
  ENGINE_CUDA_TRY(cudaMalloc(&buffer.pointer_, buffer.bytes_),
                  fmt::format("Allocating {} bytes on the device", bytes).c_str());
  AllocationLedger::of_process().allocated(buffer.pointer_, buffer.bytes_, MemorySpace::Device,
                                           std::move(label));
  return buffer;
}

Result<PinnedBuffer> PinnedBuffer::allocate(std::int64_t bytes, AllocationLabel label) {
  PinnedBuffer buffer;
  const auto size = static_cast<std::size_t>(std::max(bytes, kSmallestAllocation));
  ENGINE_CUDA_TRY(cudaMallocHost(&buffer.pointer_, size),
                  fmt::format("Allocating {} bytes of page-locked memory", bytes).c_str());
  AllocationLedger::of_process().allocated(buffer.pointer_, size, MemorySpace::PinnedHost,
                                           std::move(label));
  return buffer;
}

}  // namespace engine
