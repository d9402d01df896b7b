#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/dequantize/narrow.h"

namespace kernels {
namespace {

template <InputType kType>
__global__ __launch_bounds__(kThreads) void narrow_kernel(NarrowArgs args) {
  wait_for_predecessor();
  const std::int64_t steps = args.count / kStep;
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t step = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; step < steps;
       step += stride) {
    const RawStep<InputType::Fp32> wide = load_step<InputType::Fp32>(args.input, step);
    RawStep<kType> rounded;
#pragma unroll
    for (int pair = 0; pair < kStep / 2; ++pair) {
      const float2 values = step_pair<InputType::Fp32>(wide, pair);
      set_pair(rounded, pair, values.x, values.y);
    }
    store_step(rounded, args.output, step);
  }
}

}  // namespace

cudaError_t narrow(const NarrowArgs& args, LaunchStream stream) {
  if (args.type == InputType::Fp32 || args.count % kStep != 0) return cudaErrorInvalidValue;
  if (args.count == 0) return cudaSuccess;
  cudaError_t status = cudaErrorInvalidValue;
  const auto launch = [&](auto kernel) {
    const unsigned grid = resident_grid(kernel, args.count / kStep, kThreads, 4);
    status = launch_dependent(kernel, {.grid = grid, .threads = kThreads}, stream, args);
  };
  if (args.type == InputType::Fp16) {
    launch(narrow_kernel<InputType::Fp16>);
  } else {
    launch(narrow_kernel<InputType::Bf16>);
  }
  return status;
}

}  // namespace kernels
