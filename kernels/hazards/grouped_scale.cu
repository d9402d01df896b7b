// The plain grouped scale, and the variants that go through device addresses or a workspace.
#include "kernels/hazards/grouped_scale.h"

#include "kernels/hazards/grouped_scale_tile.cuh"

namespace kernels {
namespace {

__global__ __launch_bounds__(kHazardThreads) void grouped_scale_kernel(
    const __grid_constant__ GroupedScaleArgs args) {
  hazard_busy(args.busy_ns);
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
  visit_hazard_tile(args, [&](std::int64_t group_row, std::int64_t row, int column) {
    const float product = stage[(group_row - first) * args.columns + column];
    y[row * args.columns + column] = __float2bfloat16_rn(product * scale);
  });
}

}  // namespace

cudaError_t grouped_scale(const GroupedScaleArgs& args, cudaStream_t stream) {
  if (const cudaError_t error = check_hazard_grid(args); error != cudaSuccess) return error;
  // The kernel derives its tile from the grid alone, so that a grid that depends on the splits is
  // recognizable as such.
  GroupedScaleArgs passed = args;
  passed.tiles_per_group = 0;
  grouped_scale_kernel<<<hazard_grid(args), kHazardThreads, 0, stream>>>(passed);
  return cudaGetLastError();
}

cudaError_t grouped_scale_addressed(const GroupedScaleArgs& args, const void* const* x_of_group,
                                    cudaStream_t stream) {
  if (const cudaError_t error = check_hazard_grid(args); error != cudaSuccess) return error;
  grouped_scale_addressed_kernel<<<hazard_grid(args), kHazardThreads, 0, stream>>>(args,
                                                                                   x_of_group);
  return cudaGetLastError();
}

cudaError_t expert_addresses(const GroupedScaleArgs& args, const void** x_of_group,
                             cudaStream_t stream) {
  if (const cudaError_t error = check_hazard_grid(args); error != cudaSuccess) return error;
  const unsigned blocks = static_cast<unsigned>((args.num_groups + 31) / 32);
  expert_addresses_kernel<<<blocks, 32, 0, stream>>>(args, x_of_group);
  return cudaGetLastError();
}

cudaError_t grouped_scale_staged(const GroupedScaleArgs& args, float* workspace,
                                 cudaStream_t stream) {
  if (const cudaError_t error = check_hazard_grid(args); error != cudaSuccess) return error;
  grouped_scale_staged_kernel<<<hazard_grid(args), kHazardThreads, 0, stream>>>(args, workspace);
  return cudaGetLastError();
}

}  // namespace kernels
