// Device and pinned host memory with an owner. Allocation happens in set-up only, never between
// the first and the last launch of a step.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/allocation_ledger.h"
#include "engine/device/check.h"
#include "engine/model/error.h"

namespace engine {

/// Red zones: a pattern before and after every device buffer allocated while they are enabled, to
/// detect out-of-bounds writes.
class RedZones {
 public:
  static constexpr std::int64_t kBytes = 4096;

  /// For the whole process; call before the buffers in question are allocated.
  static void turn_on();
  static bool on();
  /// Owners of live buffers whose zones have changed. Synchronises the device.
  static Result<std::vector<std::string>> damaged();
};

class GraphMemory;

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : pointer_(std::exchange(other.pointer_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        zone_(std::exchange(other.zone_, 0)),
        pool_(std::move(other.pool_)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    std::swap(zone_, other.zone_);
    std::swap(pool_, other.pool_);
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer();

  /// Never empty: 0 bytes still give an address, so that tensors without rows need no special case.
  /// Contents are not initialised. The label goes into the process's allocation ledger. If the
  /// buffer lives as long as graphs with a memory of their own (GraphMemoryScope), it is a piece of
  /// that memory: its contents exist only in these graphs' turns, and it is in the ledger only
  /// during their captures.
  static Result<DeviceBuffer> allocate(std::int64_t bytes, AllocationLabel label);

  template <class T>
  T* as() const {
    return static_cast<T*>(pointer_);
  }
  std::byte* data() const { return static_cast<std::byte*>(pointer_); }
  std::size_t bytes() const { return bytes_; }
  explicit operator bool() const { return pointer_ != nullptr; }

 private:
  void* pointer_ = nullptr;
  std::size_t bytes_ = 0;
  std::int64_t zone_ = 0;                        // bytes of red zone on each side
  std::shared_ptr<GraphMemory> pool_ = nullptr;  // of a piece: what owns its memory
};

/// Page-locked host memory: what asynchronous copies need.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(PinnedBuffer&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer();

  static Result<PinnedBuffer> allocate(std::int64_t bytes, AllocationLabel label = {});

  template <class T>
  T* as() const {
    return static_cast<T*>(pointer_);
  }

 private:
  void* pointer_ = nullptr;
};

/// Copies with a synchronise: for set-up and results, never inside a step.
template <class T>
Status copy_to_device(void* target, std::span<const T> values, cudaStream_t stream) {
  if (values.empty()) return {};
  ENGINE_CUDA_TRY(
      cudaMemcpyAsync(target, values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream),
      "Copying to the device");
  return check_cuda(cudaStreamSynchronize(stream), "Copying to the device");
}

template <class T>
Status copy_to_host(std::span<T> values, const void* source, cudaStream_t stream) {
  if (values.empty()) return {};
  ENGINE_CUDA_TRY(
      cudaMemcpyAsync(values.data(), source, values.size_bytes(), cudaMemcpyDeviceToHost, stream),
      "Copying from the device");
  return check_cuda(cudaStreamSynchronize(stream), "Copying from the device");
}

}  // namespace engine
