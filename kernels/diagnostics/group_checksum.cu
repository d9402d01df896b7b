// Checksum of each group's bits on the device: 8 bytes per group are copied to the host instead of
// the product. Graph-safe: see group_walk.cuh.
#include "kernels/diagnostics/group_walk.cuh"
#include "kernels/diagnostics/statistics.h"

namespace kernels {

namespace {

__global__ __launch_bounds__(kWalkThreads) void group_checksum_kernel(
    const __grid_constant__ GroupChecksumArgs args) {
  unsigned long long sum = 0;
  const auto enter = [](int, std::int64_t) {};
  const auto visit = [&](const WalkPosition& position) {
    const uint4 raw = *reinterpret_cast<const uint4*>(
        static_cast<const std::uint16_t*>(args.values) + position.element);
    const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
    const auto index = static_cast<std::uint64_t>(position.row * args.columns + position.column);
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      sum += checksum_term(index + pair * 2, static_cast<std::uint16_t>(words[pair]));
      sum += checksum_term(index + pair * 2 + 1, static_cast<std::uint16_t>(words[pair] >> 16));
    }
  };
  const auto leave = [&](int group) {
    const unsigned long long group_sum = block_sum(sum);
    if (threadIdx.x == 0) {
      atomicAdd(reinterpret_cast<unsigned long long*>(&args.checksums[group]), group_sum);
    }
    sum = 0;
  };
  walk_groups({.row_offsets = args.row_offsets,
               .num_groups = args.num_groups,
               .capacity_rows = args.capacity_rows,
               .columns = args.columns},
              enter, visit, leave);
}

}  // namespace

cudaError_t group_checksum(const GroupChecksumArgs& args, cudaStream_t stream) {
  if (!is_aligned(args.values, 16)) return cudaErrorInvalidValue;
  const WalkGrid grid = walk_grid({.row_offsets = args.row_offsets,
                                   .num_groups = args.num_groups,
                                   .capacity_rows = args.capacity_rows,
                                   .columns = args.columns});
  if (grid.error != cudaSuccess || grid.blocks == 0) return grid.error;
  group_checksum_kernel<<<grid.blocks, kWalkThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

}  // namespace kernels
