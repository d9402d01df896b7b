// One thread per block: kErrorBlock elements are two steps. Graph-safe: rows are read from the
// offsets.
#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/diagnostics/block_error.h"
#include "kernels/diagnostics/group_walk.cuh"

namespace kernels {
namespace {

template <InputType kType>
__global__ __launch_bounds__(kThreads) void block_error_kernel(
    const __grid_constant__ BlockErrorArgs args) {
  constexpr int kSteps = kErrorBlock / kStep;
  const std::int64_t rows = args.input.row_offsets[args.input.num_groups];
  const std::int64_t blocks = rows * (args.input.columns / kErrorBlock);
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t block = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; block < blocks;
       block += stride) {
    BlockErrorSums sums;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      float values[kStep];
      float decoded[kStep];
      step_values(load_step<kType>(args.input.input, block * kSteps + step), values);
      if (args.decoded == nullptr) {
#pragma unroll
        for (int i = 0; i < kStep; ++i) decoded[i] = values[i];
      } else {
        step_values(load_step<InputType::Fp32>(args.decoded, block * kSteps + step), decoded);
      }
#pragma unroll
      for (int i = 0; i < kStep; ++i) sums.add(values[i], decoded[i]);
    }
    if (const int bin = sums.bin(); bin >= 0) {
      atomicAdd(reinterpret_cast<unsigned long long*>(args.counts) + bin, 1ULL);
    }
  }
}

template <InputType kType>
void launch(const BlockErrorArgs& args, cudaStream_t stream) {
  const std::int64_t most = args.input.capacity_rows * (args.input.columns / kErrorBlock);
  const unsigned grid = resident_grid(block_error_kernel<kType>, most, kThreads, 4);
  block_error_kernel<kType><<<grid, kThreads, 0, stream>>>(args);
}

}  // namespace

cudaError_t block_errors(const BlockErrorArgs& args, cudaStream_t stream) {
  if (args.input.columns % kErrorBlock != 0) return cudaErrorInvalidValue;
  if (!is_aligned(args.input.input, 16) || !is_aligned(args.decoded, 16)) {
    return cudaErrorMisalignedAddress;
  }
  if (args.input.capacity_rows == 0) return cudaSuccess;
  switch (args.input.type) {
    case InputType::Bf16:
      launch<InputType::Bf16>(args, stream);
      break;
    case InputType::Fp16:
      launch<InputType::Fp16>(args, stream);
      break;
    case InputType::Fp32:
      launch<InputType::Fp32>(args, stream);
      break;
  }
  return cudaGetLastError();
}

}  // namespace kernels
