// An activation or its gradient alone: the loader of the fused kernels plus a store.
#include "kernels/activation/activate.h"
#include "kernels/common/activated_step.cuh"
#include "kernels/common/launch.cuh"

namespace kernels {
namespace {

/// NaN is stored as 0x7FFFFFFF, whatever its bits; rounding to 16 bits canonicalizes its own NaN.
template <InputType kType>
__device__ __forceinline__ std::uint32_t canonical(std::uint32_t word) {
  if constexpr (kType != InputType::Fp32) return word;
  return (word & 0x7FFFFFFFU) > 0x7F800000U ? 0x7FFFFFFFU : word;
}

template <InputType kType>
__global__ __launch_bounds__(kThreads) void activate_kernel(
    const __grid_constant__ ActivateArgs args) {
  wait_for_predecessor();
  const GroupedInput& input = args.input;
  const std::int64_t steps = input.row_offsets[input.num_groups] * (input.columns / kStep);
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t step = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; step < steps;
       step += stride) {
    RawStep<kType> raw = activated_step_at<kType, true>(input, step);
#pragma unroll
    for (std::uint32_t& word : raw.words) word = canonical<kType>(word);
    store_step(raw, args.output, step);
  }
}

}  // namespace

cudaError_t activate(const ActivateArgs& args, LaunchStream stream) {
  const GroupedInput& input = args.input;
  if (const cudaError_t bad = check_operands(input, args.output); bad != cudaSuccess) return bad;
  if (input.activation.is_none()) return cudaErrorInvalidValue;
  const std::int64_t steps = input.capacity_rows * input.columns / kStep;
  if (steps > std::int64_t{UINT32_MAX}) return cudaErrorInvalidValue;
  if (input.num_groups == 0) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  dispatch_input(input.type, [&](auto type) {
    const auto kernel = activate_kernel<type()>;
    error = launch_dependent(
        kernel, {.grid = resident_grid(kernel, steps, kThreads, 4), .threads = kThreads}, stream,
        args);
  });
  return error;
}

}  // namespace kernels
