#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/dequantize/widen.h"

namespace kernels {
namespace {

template <InputType kType>
__global__ __launch_bounds__(kThreads) void widen_kernel(WidenArgs args) {
  wait_for_predecessor();
  const std::int64_t steps = args.count / kStep;
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t step = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; step < steps;
       step += stride) {
    const RawStep<kType> narrow = load_step<kType>(args.input, step);
    RawStep<InputType::Fp32> wide;
#pragma unroll
    for (int pair = 0; pair < kStep / 2; ++pair) {
      const float2 values = step_pair<kType>(narrow, pair);
      set_pair(wide, pair, values.x, values.y);
    }
    store_step(wide, args.output, step);
  }
}

}  // namespace

cudaError_t widen(const WidenArgs& args, LaunchStream stream) {
  if (args.type == InputType::Fp32 || args.count % kStep != 0) return cudaErrorInvalidValue;
  if (args.count == 0) return cudaSuccess;
  cudaError_t status = cudaErrorInvalidValue;
  const auto launch = [&](auto kernel) {
    const unsigned grid = resident_grid(kernel, args.count / kStep, kThreads, 4);
    status = launch_dependent(kernel, {.grid = grid, .threads = kThreads}, stream, args);
  };
  if (args.type == InputType::Fp16) {
    launch(widen_kernel<InputType::Fp16>);
  } else {
    launch(widen_kernel<InputType::Bf16>);
  }
  return status;
}

}  // namespace kernels
