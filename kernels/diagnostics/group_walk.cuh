// How the diagnostic kernels iterate over a grouped operand: every thread block takes an equal,
// contiguous share of the active elements, as given by the row offsets on the device, with
// callbacks where a group begins and ends. Nothing is sized by the number of groups; a replayed
// graph follows new offsets.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"

namespace kernels {

constexpr int kWalkThreads = 256;
constexpr int kWalkWarps = kWalkThreads / 32;

struct GroupRows {
  const std::int64_t* row_offsets = nullptr;  // [num_groups + 1], device
  int num_groups = 0;
  std::int64_t capacity_rows = 0;
  std::int64_t columns = 0;
};

/// The rows that a kernel with these arguments walks.
template <class Args>
KERNELS_HOST_DEVICE GroupRows rows_of(const Args& args) {
  return {args.row_offsets, args.num_groups, args.capacity_rows, args.columns};
}

/// kStep adjacent elements of one row.
struct WalkPosition {
  std::int64_t row;  // inside the group
  std::int64_t column;
  std::int64_t element;  // of the whole operand
};

/// Sum over the block, valid in thread 0. All threads must call.
template <class T>
__device__ T block_sum(T value) {
  __shared__ T partial[kWalkWarps];
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_down_sync(0xFFFFFFFFU, value, distance);
  }
  __syncthreads();  // wait for the previous call's readers
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kWalkWarps; ++warp) value += partial[warp];
  }
  return value;
}

/// Raises `target` to the largest value of the warp, none negative. All lanes must call.
__device__ inline void raise_to_warp_max(float& target, float value) {
  const unsigned largest = __reduce_max_sync(0xFFFFFFFFU, __float_as_uint(value));
  if (threadIdx.x % 32 == 0 && largest != 0) {
    atomicMax(reinterpret_cast<unsigned*>(&target), largest);
  }
}

/// The group that owns `row`: the last one that starts at or before it (empty groups before it
/// start there too). The row must lie below row_offsets[num_groups].
__device__ inline int group_of_row(const GroupRows& rows, std::int64_t row) {
  int low = 0;
  int high = rows.num_groups;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (rows.row_offsets[middle] <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// enter(group, group_rows) and leave(group) are called by all threads of the block together, so
/// they may synchronise; visit(position) by single threads. Needs blockDim.x == kWalkThreads.
template <class Enter, class Visit, class Leave>
__device__ void walk_groups(const GroupRows& rows, Enter enter, Visit visit, Leave leave) {
  const std::int64_t per_row = rows.columns / kStep;
  const std::int64_t used_rows = min(rows.row_offsets[rows.num_groups], rows.capacity_rows);
  const std::int64_t total = used_rows * per_row;
  const std::int64_t share = (total + gridDim.x - 1) / gridDim.x;
  const std::int64_t begin = min(share * blockIdx.x, total);
  const std::int64_t end = min(begin + share, total);
  if (begin >= end) return;
  // A thread's next vector is one step ahead: the step is split once, with no division per element.
  const std::int64_t step_rows = kWalkThreads / per_row;
  const std::int64_t step_columns = kWalkThreads % per_row;
  std::int64_t at = begin;
  for (int group = group_of_row(rows, begin / per_row); at < end && group < rows.num_groups;
       ++group) {
    const std::int64_t first_row = rows.row_offsets[group];
    const std::int64_t group_rows = rows.row_offsets[group + 1] - first_row;
    const std::int64_t stop = min(end, (first_row + group_rows) * per_row);
    if (stop <= at) continue;  // empty
    enter(group, group_rows);
    const std::int64_t mine = at + threadIdx.x;
    std::int64_t row = mine / per_row;
    std::int64_t vector = mine % per_row;
    while (row * per_row + vector < stop) {
      visit(WalkPosition{.row = row - first_row,
                         .column = vector * kStep,
                         .element = (row * per_row + vector) * kStep});
      row += step_rows;
      vector += step_columns;
      if (vector >= per_row) {
        vector -= per_row;
        ++row;
      }
    }
    leave(group);
    at = stop;
  }
}

/// Vector loads need it; cudaMalloc aligns to 256.
inline bool is_aligned(const void* pointer, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

constexpr int kWalkBlocksPerMultiprocessor = 4;

/// Launches a kernel that walks rows_of(args), with blocks for their capacity. Queries only
/// constants of the device, so it may run during stream capture.
template <class Args>
cudaError_t launch_walk(void (*kernel)(Args), const Args& args, cudaStream_t stream) {
  const GroupRows rows = rows_of(args);
  if (rows.num_groups < 0 || rows.columns < 0 || rows.columns % kStep != 0) {
    return cudaErrorInvalidValue;
  }
  const std::int64_t vectors = rows.capacity_rows * (rows.columns / kStep);
  if (rows.num_groups == 0 || vectors <= 0) return cudaSuccess;
  int device = 0;
  int multiprocessors = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  }
  if (error != cudaSuccess) return error;
  const std::int64_t resident = std::int64_t{multiprocessors} * kWalkBlocksPerMultiprocessor;
  const std::int64_t needed = ceil_div(vectors, kWalkThreads);
  return launch_plain(
      kernel, {.grid = static_cast<unsigned>(std::min(resident, needed)), .threads = kWalkThreads},
      stream, args);
}

}  // namespace kernels
