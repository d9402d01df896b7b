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
    // Any 16-bit elements.
    const auto raw = load_step<InputType::Bf16>(args.values, position.element / kStep);
    const auto index = static_cast<std::uint64_t>(position.row * args.columns + position.column);
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      sum += checksum_term(index + pair * 2, static_cast<std::uint16_t>(raw.words[pair]));
      sum += checksum_term(index + pair * 2 + 1, static_cast<std::uint16_t>(raw.words[pair] >> 16));
    }
  };
  const auto leave = [&](int group) {
    const unsigned long long group_sum = block_sum(sum);
    if (threadIdx.x == 0) {
      atomicAdd(reinterpret_cast<unsigned long long*>(&args.checksums[group]), group_sum);
    }
    sum = 0;
  };
  walk_groups(rows_of(args), enter, visit, leave);
}

}  // namespace

cudaError_t group_checksum(const GroupChecksumArgs& args, cudaStream_t stream) {
  if (!is_aligned(args.values, 16)) return cudaErrorInvalidValue;
  return launch_walk(group_checksum_kernel, args, stream);
}

}  // namespace kernels
