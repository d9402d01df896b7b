// Largest magnitude of all rows, a grid-wide barrier, then the scaled rows.
#include "kernels/hazards/grouped_scale.h"

#include "kernels/hazards/grouped_scale_tile.cuh"

namespace kernels {
namespace {

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
    const std::uint64_t start = hazard_clock_ns();
    while (*static_cast<volatile std::uint32_t*>(args.arrived) != kBarrierBlocks) {
      if (hazard_clock_ns() - start > args.give_up_ns) {
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

cudaError_t scale_by_amax(const AmaxBarrierArgs& args, cudaStream_t stream) {
  if (args.scale.num_groups <= 0 || args.scale.columns <= 0) return cudaErrorInvalidValue;
  scale_by_amax_kernel<<<kBarrierBlocks, kHazardThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

}  // namespace kernels
