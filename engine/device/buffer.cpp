// Allocation of device and pinned memory.
#include "engine/device/buffer.h"

#include <fmt/format.h>

#include <algorithm>

namespace engine {
namespace {

constexpr std::int64_t kSmallestAllocation = 256;

}  // namespace

Result<DeviceBuffer> DeviceBuffer::allocate(std::int64_t bytes) {
  DeviceBuffer buffer;
  buffer.bytes_ = static_cast<std::size_t>(std::max(bytes, kSmallestAllocation));
  ENGINE_CUDA_TRY(cudaMalloc(&buffer.pointer_, buffer.bytes_),
                  fmt::format("Allocating {} bytes on the device", bytes).c_str());
  return buffer;
}

Result<PinnedBuffer> PinnedBuffer::allocate(std::int64_t bytes) {
  PinnedBuffer buffer;
  ENGINE_CUDA_TRY(cudaMallocHost(&buffer.pointer_,
                                 static_cast<std::size_t>(std::max(bytes, kSmallestAllocation))),
                  fmt::format("Allocating {} bytes of page-locked memory", bytes).c_str());
  return buffer;
}

}  // namespace engine
