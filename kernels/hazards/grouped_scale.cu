// The kernels of grouped_scale.h, all but the late ones.
#include "kernels/hazards/grouped_scale.h"

#include "kernels/common/launch.cuh"
#include "kernels/hazards/grouped_scale_tile.cuh"

namespace kernels {
namespace {

__global__ __launch_bounds__(kHazardThreads) void grouped_scale_kernel(
    const __grid_constant__ GroupedScaleArgs args) {
  stay_busy(args.busy_ns);
  scale_hazard_tile(args);
}

__global__ __launch_bounds__(kHazardThreads) void grouped_scale_addressed_kernel(
    const __grid_constant__ GroupedScaleArgs args, const void* const* x_of_group) {
  const float scale = hazard_scale(args);
  const auto* x = static_cast<const __nv_bfloat16*>(x_of_group[blockIdx.y]);
  auto* y = static_cast<__nv_bfloat16*>(args.y);
  visit_hazard_tile(args, [&](std::int64_t group_row, std::int64_t row, int column) {
    const float value = __bfloat162float(x[group_row * args.columns + column]);
    const float product = value * hazard_weight(args, column);
    y[row * args.columns + column] = __float2bfloat16_rn(product * scale);
  });
}

__global__ void expert_addresses_kernel(const __grid_constant__ GroupedScaleArgs args,
                                        const void** x_of_group) {
  const int group = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (group >= args.num_groups) return;
  const auto* x = static_cast<const __nv_bfloat16*>(args.x);
  x_of_group[group] = x + args.row_offsets[group] * args.columns;
}

/// Each block uses its own part of the workspace.
__global__ __launch_bounds__(kHazardThreads) void grouped_scale_staged_kernel(
    const __grid_constant__ GroupedScaleArgs args, float* workspace) {
  const float scale = hazard_scale(args);
  const auto* x = static_cast<const __nv_bfloat16*>(args.x);
  auto* y = static_cast<__nv_bfloat16*>(args.y);
  const std::int64_t block = std::int64_t{blockIdx.y} * gridDim.x + blockIdx.x;
  float* stage = workspace + block * kHazardRowsPerTile * args.columns;
  const std::int64_t first = std::int64_t{blockIdx.x} * kHazardRowsPerTile;
  visit_hazard_tile(args, [&](std::int64_t group_row, std::int64_t row, int column) {
    const float value = __bfloat162float(x[row * args.columns + column]);
    stage[(group_row - first) * args.columns + column] = value * hazard_weight(args, column);
  });
  __syncthreads();
  stay_busy(args.busy_ns);
  visit_hazard_tile(args, [&](std::int64_t group_row, std::int64_t row, int column) {
    const float product = stage[(group_row - first) * args.columns + column];
    y[row * args.columns + column] = __float2bfloat16_rn(product * scale);
  });
}

// ---- A producer that triggers early, and its consumer: both need compute capability 9.0 ---------

__global__ __launch_bounds__(kHazardThreads) void early_trigger_kernel(
    const __grid_constant__ GroupedScaleArgs args) {
  let_successor_start();
  stay_busy(args.busy_ns);
  scale_hazard_tile(args);
}

template <bool kWaits>
__global__ __launch_bounds__(kHazardThreads) void dependent_kernel(
    const __grid_constant__ GroupedScaleArgs args) {
  if constexpr (kWaits) wait_for_predecessor();
  scale_hazard_tile(args);
}

// ---- Largest magnitude of all rows, a grid-wide barrier, then the scaled rows -------------------

__device__ float amax_of_block(float value) {
  __shared__ float of_warp[kHazardThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFFU, value, offset));
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  for (const float other : of_warp) value = fmaxf(value, other);
  return value;
}

/// Waits for exactly kBarrierBlocks arrivals, which a counter that was not reset never shows.
__device__ void wait_for_all(const AmaxBarrierArgs& args) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(args.arrived, 1U);
    const std::uint64_t start = device_time_ns();
    while (*static_cast<volatile std::uint32_t*>(args.arrived) != kBarrierBlocks) {
      if (device_time_ns() - start > args.give_up_ns) {
        atomicExch(args.gave_up, 1U);
        break;
      }
      __nanosleep(200);
    }
    __threadfence();
  }
  __syncthreads();
}

__global__ __launch_bounds__(kHazardThreads) void scale_by_amax_kernel(
    const __grid_constant__ AmaxBarrierArgs args) {
  const GroupedScaleArgs& scale = args.scale;
  const auto* x = static_cast<const __nv_bfloat16*>(scale.x);
  auto* y = static_cast<__nv_bfloat16*>(scale.y);
  const std::int64_t rows = scale.row_offsets[scale.num_groups];
  const std::int64_t stride = std::int64_t{kBarrierBlocks} * kHazardThreads;
  const std::int64_t first = std::int64_t{blockIdx.x} * kHazardThreads + threadIdx.x;
  const std::int64_t elements = rows * scale.columns;

  float largest = 0;
  for (std::int64_t i = first; i < elements; i += stride) {
    largest = fmaxf(largest, fabsf(__bfloat162float(x[i])));
  }
  largest = amax_of_block(largest);
  if (threadIdx.x == 0) args.partial_amax[blockIdx.x] = largest;
  wait_for_all(args);

  const volatile float* partial = args.partial_amax;
  float amax = 0;
  for (int block = 0; block < kBarrierBlocks; ++block) amax = fmaxf(amax, partial[block]);
  const float factor = amax > 0 ? hazard_scale(scale) / amax : 0.0F;
  const auto* weights = static_cast<const __nv_bfloat16*>(scale.weights);
  for (std::int64_t i = first; i < elements; i += stride) {
    const std::int64_t row = i / scale.columns;
    int group = 0;
    while (row >= scale.row_offsets[group + 1]) ++group;
    const std::int64_t column = i % scale.columns;
    const float weight = __bfloat162float(weights[group * scale.columns + column]);
    y[i] = __float2bfloat16_rn(__bfloat162float(x[i]) * weight * factor);
  }
}

}  // namespace

cudaError_t grouped_scale(const GroupedScaleArgs& args, cudaStream_t stream) {
  // The kernel derives its tile from the grid alone, so that a grid that depends on the splits is
  // recognizable as such.
  GroupedScaleArgs passed = args;
  passed.tiles_per_group = 0;
  return launch_hazard(args, stream, grouped_scale_kernel, passed);
}

cudaError_t grouped_scale_addressed(const GroupedScaleArgs& args, const void* const* x_of_group,
                                    cudaStream_t stream) {
  return launch_hazard(args, stream, grouped_scale_addressed_kernel, args, x_of_group);
}

cudaError_t expert_addresses(const GroupedScaleArgs& args, const void** x_of_group,
                             cudaStream_t stream) {
  if (const cudaError_t error = check_hazard_grid(args); error != cudaSuccess) return error;
  const unsigned blocks = static_cast<unsigned>((args.num_groups + 31) / 32);
  return launch_plain(expert_addresses_kernel, {.grid = blocks, .threads = 32}, stream, args,
                      x_of_group);
}

cudaError_t grouped_scale_staged(const GroupedScaleArgs& args, float* workspace,
                                 cudaStream_t stream) {
  return launch_hazard(args, stream, grouped_scale_staged_kernel, args, workspace);
}

cudaError_t grouped_scale_early_trigger(const GroupedScaleArgs& args, cudaStream_t stream) {
  return launch_hazard(args, stream, early_trigger_kernel, args);
}

cudaError_t grouped_scale_dependent(const GroupedScaleArgs& args, DependentLaunch launch,
                                    cudaStream_t stream) {
  if (const cudaError_t error = check_hazard_grid(args); error != cudaSuccess) return error;
  // The one that does not wait breaks the rule of launch_dependent(): that is its purpose.
  const auto kernel = launch.waits_for_producer ? dependent_kernel<true> : dependent_kernel<false>;
  return launch_dependent(kernel, {.grid = hazard_grid(args), .threads = kHazardThreads},
                          {stream, launch.programmatic}, args);
}

cudaError_t scale_by_amax(const AmaxBarrierArgs& args, cudaStream_t stream) {
  if (args.scale.num_groups <= 0 || args.scale.columns <= 0) return cudaErrorInvalidValue;
  return launch_plain(scale_by_amax_kernel, {.grid = kBarrierBlocks, .threads = kHazardThreads},
                      stream, args);
}

}  // namespace kernels
