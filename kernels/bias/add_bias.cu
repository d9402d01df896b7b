// A warp takes whole rows: it finds the row's group once and walks its columns, 16 bytes per lane.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/bias/add_bias.h"
#include "kernels/common/group_search.cuh"
#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"

namespace kernels {
namespace {

constexpr int kWarpsPerBlock = kThreads / 32;

template <InputType kType>
__device__ void store_step(void* target, std::int64_t step, const float2 (&sums)[kStep / 2]) {
  if constexpr (kType == InputType::Fp32) {
    float4* const vectors = static_cast<float4*>(target) + step * 2;
    vectors[0] = {sums[0].x, sums[0].y, sums[1].x, sums[1].y};
    vectors[1] = {sums[2].x, sums[2].y, sums[3].x, sums[3].y};
  } else {
    std::uint32_t words[kStep / 2];
#pragma unroll
    for (int pair = 0; pair < kStep / 2; ++pair) {
      if constexpr (kType == InputType::Bf16) {
        const __nv_bfloat162 rounded = __float22bfloat162_rn(sums[pair]);
        words[pair] = *reinterpret_cast<const std::uint32_t*>(&rounded);
      } else {
        const __half2 rounded = __float22half2_rn(sums[pair]);
        words[pair] = *reinterpret_cast<const std::uint32_t*>(&rounded);
      }
    }
    static_cast<uint4*>(target)[step] = {words[0], words[1], words[2], words[3]};
  }
}

/// Plain loads: values that this kernel writes must not be read through the read-only cache.
template <InputType kType>
__device__ RawStep<kType> load_written_step(const void* source, std::int64_t step) {
  constexpr int kVectors = RawStep<kType>::kWords / 4;
  const uint4* vectors = static_cast<const uint4*>(source) + step * kVectors;
  RawStep<kType> raw;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const uint4 vector = vectors[i];
    raw.words[4 * i] = vector.x;
    raw.words[4 * i + 1] = vector.y;
    raw.words[4 * i + 2] = vector.z;
    raw.words[4 * i + 3] = vector.w;
  }
  return raw;
}

template <InputType kType, InputType kBias>
__global__ void __launch_bounds__(kThreads) add_bias_kernel(AddBiasArgs args) {
  wait_for_predecessor();
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const std::int64_t warp =
      std::int64_t{blockIdx.x} * kWarpsPerBlock + static_cast<int>(threadIdx.x) / 32;
  const std::int64_t warps = std::int64_t{gridDim.x} * kWarpsPerBlock;
  const std::int64_t rows = args.row_offsets[args.num_groups];
  const std::int64_t steps = args.columns / kStep;
  for (std::int64_t row = warp; row < rows; row += warps) {
    const int group = warp_find_group(args.row_offsets, args.num_groups, row);
    for (std::int64_t step = lane; step < steps; step += 32) {
      const RawStep<kType> values = load_written_step<kType>(args.values, row * steps + step);
      const RawStep<kBias> bias = load_step<kBias>(args.bias, group * steps + step);
      float2 sums[kStep / 2];
#pragma unroll
      for (int pair = 0; pair < kStep / 2; ++pair) {
        const float2 a = step_pair<kType>(values, pair);
        const float2 b = step_pair<kBias>(bias, pair);
        sums[pair] = {__fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y)};
      }
      store_step<kType>(args.values, row * steps + step, sums);
    }
  }
}

template <InputType kType, InputType kBias>
cudaError_t launch(const AddBiasArgs& args, LaunchStream stream) {
  const auto kernel = add_bias_kernel<kType, kBias>;
  const unsigned grid = resident_grid(kernel, args.capacity_rows, kWarpsPerBlock);
  return launch_dependent(kernel, {.grid = grid, .threads = kThreads}, stream, args);
}

}  // namespace

cudaError_t add_bias(const AddBiasArgs& args, LaunchStream stream) {
  if (args.columns % kStep != 0 || args.bias_type == InputType::Fp32) return cudaErrorInvalidValue;
  if (args.num_groups <= 0 || args.capacity_rows <= 0) return cudaSuccess;
  cudaError_t status = cudaErrorInvalidValue;
  dispatch_input(args.type, [&](auto type) {
    status = args.bias_type == InputType::Fp16
                 ? launch<decltype(type)::value, InputType::Fp16>(args, stream)
                 : launch<decltype(type)::value, InputType::Bf16>(args, stream);
  });
  return status;
}

}  // namespace kernels
