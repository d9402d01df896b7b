// A stable counting sort of the copies by expert. A thread block counts its share in the first
// launch; in the second it sums what all blocks counted, so that no launch scans between them, and
// places its copies warp by warp, in order: 32 at a time find their rank among equals with one
// match. No order of blocks or atomics decides a row.
#include "kernels/common/group_search.cuh"
#include "kernels/common/group_tables.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/permute/routing_map.h"

namespace kernels {
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kPerThread = kMaxGroups / kThreads;  // adjacent groups

struct RoutingPlan {
  RoutingMapArgs args;
  std::int64_t chunk = 0;
};

/// The expert of a copy; -1 if it is dropped or there is no such copy.
__device__ __forceinline__ int expert_of(const RoutingMapArgs& args, std::int64_t copy,
                                         std::int64_t end) {
  if (copy >= end) return -1;
  const std::int32_t expert = __ldg(args.experts + copy);
  return expert >= 0 && expert < args.num_groups ? expert : -1;
}

__device__ __forceinline__ std::int64_t chunk_end(const RoutingPlan& plan) {
  return min(plan.args.tokens * plan.args.top_k, (std::int64_t{blockIdx.x} + 1) * plan.chunk);
}

__global__ __launch_bounds__(kThreads) void routing_counts_kernel(
    const __grid_constant__ RoutingPlan plan) {
  let_successor_start();
  wait_for_predecessor();
  __shared__ int counts[kMaxGroups];
  const RoutingMapArgs& args = plan.args;
  const int thread = static_cast<int>(threadIdx.x);
  for (int g = thread; g < args.num_groups; g += kThreads) counts[g] = 0;
  __syncthreads();
  const std::int64_t end = chunk_end(plan);
  for (std::int64_t copy = blockIdx.x * plan.chunk + thread; copy < end; copy += kThreads) {
    const int expert = expert_of(args, copy, end);
    if (expert >= 0) atomicAdd(&counts[expert], 1);
  }
  __syncthreads();
  std::int32_t* const own = args.counts + std::int64_t{blockIdx.x} * args.num_groups;
  for (int g = thread; g < args.num_groups; g += kThreads) own[g] = counts[g];
}

/// Exclusive sum over the block of each thread's sum. All threads call.
__device__ __forceinline__ int sum_before_thread(int sum, int (&warp_totals)[kWarps]) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  int inclusive = sum;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int below = __shfl_up_sync(kFullWarp, inclusive, distance);
    if (lane >= distance) inclusive += below;
  }
  if (lane == 31) warp_totals[warp] = inclusive;
  __syncthreads();
  int before = inclusive - sum;
  for (int w = 0; w < warp; ++w) before += warp_totals[w];
  return before;
}

struct MapMemory {
  int rows[kMaxGroups];    // of a group; then padding before it
  int before[kMaxGroups];  // of those, in the blocks before; then the first row of this block
  int next[kWarps][kMaxGroups];
  int warp_totals[2][kWarps];
};

/// Sums what the blocks counted.
__device__ void sum_counts(const RoutingMapArgs& args, MapMemory& memory) {
  const int thread = static_cast<int>(threadIdx.x);
  const int groups = args.num_groups;
  for (int g = thread; g < groups; g += kThreads) memory.rows[g] = memory.before[g] = 0;
  __syncthreads();
  const int parts = max(kThreads / groups, 1);  // few groups: several threads sum one
  const int blocks = static_cast<int>(gridDim.x);
  for (int i = thread; i < parts * groups; i += kThreads) {
    const int g = i % groups;
    int rows = 0;
    int before = 0;
#pragma unroll 8
    for (int b = i / groups; b < blocks; b += parts) {
      const int count = __ldcg(args.counts + std::int64_t{b} * groups + g);
      rows += count;
      if (b < static_cast<int>(blockIdx.x)) before += count;
    }
    atomicAdd(&memory.rows[g], rows);
    atomicAdd(&memory.before[g], before);
  }
  __syncthreads();
}

/// Row offsets of all groups, written by the first block; leaves the first row of each group of
/// this block, and the padding before it.
__device__ void make_offsets(const RoutingMapArgs& args, MapMemory& memory) {
  const int first = static_cast<int>(threadIdx.x) * kPerThread;
  const int unit = static_cast<int>(args.padding);
  int rows[kPerThread];
  int padded[kPerThread];
  int sum = 0;
  int padded_sum = 0;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    rows[i] = first + i < args.num_groups ? memory.rows[first + i] : 0;
    padded[i] = (rows[i] + unit - 1) / unit * unit;
    sum += rows[i];
    padded_sum += padded[i];
  }
  int row = sum_before_thread(sum, memory.warp_totals[0]);
  int padded_row = sum_before_thread(padded_sum, memory.warp_totals[1]);
  const bool writes = blockIdx.x == 0;
  const bool pads = args.padded_row_offsets != nullptr;
  if (writes && threadIdx.x == 0) {
    args.row_offsets[0] = 0;
    if (pads) args.padded_row_offsets[0] = 0;
  }
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const int g = first + i;
    if (g >= args.num_groups) break;
    memory.before[g] += row;
    memory.rows[g] = pads ? padded_row - row : 0;
    row += rows[i];
    padded_row += padded[i];
    if (!writes) continue;
    args.row_offsets[g + 1] = row;
    if (pads) args.padded_row_offsets[g + 1] = padded_row;
    if (args.splits != nullptr) args.splits[g] = rows[i];
  }
}

__global__ __launch_bounds__(kThreads) void routing_map_kernel(
    const __grid_constant__ RoutingPlan plan) {
  wait_for_predecessor();
  __shared__ MapMemory memory;
  const RoutingMapArgs& args = plan.args;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread & 31;
  int* const next = memory.next[thread / 32];
  for (int g = lane; g < args.num_groups; g += 32) next[g] = 0;
  sum_counts(args, memory);
  make_offsets(args, memory);

  // Each warp counts its part of the chunk, then knows where its copies begin.
  const std::int64_t end = chunk_end(plan);
  const std::int64_t part = plan.chunk / kWarps;
  const std::int64_t part_begin = blockIdx.x * plan.chunk + thread / 32 * part;
  const std::int64_t part_end = min(end, part_begin + part);
  for (std::int64_t copy = part_begin + lane; copy < part_end; copy += 32) {
    const int expert = expert_of(args, copy, part_end);
    if (expert >= 0) atomicAdd(&next[expert], 1);
  }
  __syncthreads();
  for (int g = thread; g < args.num_groups; g += kThreads) {
    int row = memory.before[g];
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) {
      const int count = memory.next[warp][g];
      memory.next[warp][g] = row;
      row += count;
    }
  }
  __syncthreads();

  for (std::int64_t first = part_begin; first < part_end; first += 32) {
    const std::int64_t copy = first + lane;
    const int expert = expert_of(args, copy, part_end);
    const unsigned equals = __match_any_sync(kFullWarp, expert);
    const int rank = __popc(equals & ((1U << lane) - 1U));
    const int row = expert >= 0 ? next[expert] + rank : -1;
    __syncwarp();
    if (expert >= 0 && rank == 0) next[expert] += __popc(equals);
    __syncwarp();
    if (copy >= part_end) break;
    args.copy_rows[copy] = expert >= 0 ? row + memory.rows[expert] : -1;
    if (expert >= 0 && args.row_tokens != nullptr) {
      args.row_tokens[row] = static_cast<std::int32_t>(copy / args.top_k);
    }
  }
}

}  // namespace

cudaError_t routing_map(const RoutingMapArgs& args, LaunchStream stream) {
  if (args.num_groups < 1 || args.num_groups > kMaxGroups || args.tokens < 0 || args.top_k < 1 ||
      args.padding < 1 || args.tokens > INT32_MAX / args.top_k || args.padding > INT32_MAX ||
      permuted_capacity(args.tokens, args.top_k, args.num_groups, args.padding) > INT32_MAX) {
    return cudaErrorInvalidValue;
  }
  const std::int64_t copies = args.tokens * args.top_k;
  const RoutingPlan plan{.args = args, .chunk = routing_chunk(copies)};
  const auto blocks =
      static_cast<unsigned>(std::max<std::int64_t>(ceil_div(copies, plan.chunk), 1));
  const LaunchShape shape{.grid = blocks, .threads = kThreads};
  if (const cudaError_t error = launch_dependent(routing_counts_kernel, shape, stream, plan);
      error != cudaSuccess) {
    return error;
  }
  return launch_dependent(routing_map_kernel, shape, stream, plan);
}

}  // namespace kernels
