// The device's clock, and where a thread runs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace kernels {

/// %globaltimer, in nanoseconds.
__device__ __forceinline__ std::uint64_t device_time_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// %smid.
__device__ __forceinline__ std::uint32_t multiprocessor() {
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

/// Occupies the thread at least this long, in steps of about a microsecond.
__device__ inline void stay_busy(std::uint64_t nanoseconds) {
  if (nanoseconds == 0) return;
  const std::uint64_t start = device_time_ns();
  while (device_time_ns() - start < nanoseconds) __nanosleep(1000);
}

}  // namespace kernels
