// One thread block's part of a grouped scale, kHazardRowsPerTile rows of one group, and the launch
// of a block for each.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/common/device_time.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/hazards/grouped_scale.h"

namespace kernels {

constexpr int kHazardThreads = 128;

/// Calls visit(row of the group, row of the tensor, column) for each element of this block's tile;
/// the grid is [tiles_per_group, num_groups].
template <typename Visit>
__device__ void visit_hazard_tile(const GroupedScaleArgs& args, Visit visit) {
  const int group = static_cast<int>(blockIdx.y);
  const std::int64_t begin = args.row_offsets[group];
  const std::int64_t rows = args.row_offsets[group + 1] - begin;
  const std::int64_t first = std::int64_t{blockIdx.x} * kHazardRowsPerTile;
  const std::int64_t last = min(first + kHazardRowsPerTile, rows);
  for (std::int64_t row = first; row < last; ++row) {
    for (int column = static_cast<int>(threadIdx.x); column < args.columns;
         column += kHazardThreads) {
      visit(row, begin + row, column);
    }
  }
}

__device__ inline float hazard_scale(const GroupedScaleArgs& args) {
  return args.device_scale == nullptr ? args.scale : *args.device_scale;
}

__device__ inline float hazard_weight(const GroupedScaleArgs& args, int column) {
  const auto* weights = static_cast<const __nv_bfloat16*>(args.weights);
  return __bfloat162float(weights[std::int64_t{blockIdx.y} * args.columns + column]);
}

/// x * weight * scale of a tile, rounded once.
__device__ inline void scale_hazard_tile(const GroupedScaleArgs& args) {
  const float scale = hazard_scale(args);
  const auto* x = static_cast<const __nv_bfloat16*>(args.x);
  auto* y = static_cast<__nv_bfloat16*>(args.y);
  visit_hazard_tile(args, [&](std::int64_t, std::int64_t row, int column) {
    const std::int64_t element = row * args.columns + column;
    const float product = __bfloat162float(x[element]) * hazard_weight(args, column);
    y[element] = __float2bfloat16_rn(product * scale);
  });
}

inline cudaError_t check_hazard_grid(const GroupedScaleArgs& args) {
  const bool fits = args.num_groups > 0 && args.num_groups <= 65535 && args.tiles_per_group > 0 &&
                    args.columns > 0 && args.columns % 8 == 0;
  return fits ? cudaSuccess : cudaErrorInvalidValue;
}

inline dim3 hazard_grid(const GroupedScaleArgs& args) {
  return dim3(static_cast<unsigned>(args.tiles_per_group), static_cast<unsigned>(args.num_groups));
}

/// One thread block for each tile of `tiles`; the kernel gets `parameters`.
template <class... Parameters>
cudaError_t launch_hazard(const GroupedScaleArgs& tiles, cudaStream_t stream,
                          void (*kernel)(Parameters...),
                          const std::type_identity_t<Parameters>&... parameters) {
  if (const cudaError_t error = check_hazard_grid(tiles); error != cudaSuccess) return error;
  return launch_plain(kernel, {.grid = hazard_grid(tiles), .threads = kHazardThreads}, stream,
                      parameters...);
}

}  // namespace kernels
