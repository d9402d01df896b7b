// Grid and argument checks of the kernels that walk groups. Queries only constants of the device,
// so it may run during stream capture.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "kernels/diagnostics/group_walk.cuh"

namespace kernels {

constexpr int kWalkBlocksPerMultiprocessor = 4;

/// Blocks for a walk over at most capacity_rows x columns elements; 0 = nothing to do.
struct WalkGrid {
  cudaError_t error = cudaSuccess;
  unsigned blocks = 0;
};

inline WalkGrid walk_grid(const GroupRows& rows) {
  if (rows.num_groups < 0 || rows.columns < 0 || rows.columns % kWalkVector != 0) {
    return {.error = cudaErrorInvalidValue};
  }
  const std::int64_t vectors = rows.capacity_rows * (rows.columns / kWalkVector);
  if (rows.num_groups == 0 || vectors <= 0) return {};
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) {
    return {.error = error};
  }
  int multiprocessors = 0;
  if (const cudaError_t error =
          cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
      error != cudaSuccess) {
    return {.error = error};
  }
  const std::int64_t resident = std::int64_t{multiprocessors} * kWalkBlocksPerMultiprocessor;
  const std::int64_t needed = (vectors + kWalkThreads - 1) / kWalkThreads;
  return {.blocks = static_cast<unsigned>(std::min(resident, needed))};
}

/// Vector loads need it; cudaMalloc aligns to 256.
inline bool is_aligned(const void* pointer, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

}  // namespace kernels
