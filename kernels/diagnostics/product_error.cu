// Error of a product against an FP32 reference, per group, on the device. Graph-safe: see
// group_walk.cuh.
#include "kernels/common/launch.cuh"
#include "kernels/diagnostics/group_walk.cuh"
#include "kernels/diagnostics/statistics.h"

namespace kernels {

namespace {

__device__ double warp_max(double value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = fmax(value, __shfl_down_sync(0xFFFFFFFFU, value, distance));
  }
  return value;
}

/// The bits of doubles >= 0, read as integers, have the same order.
__device__ void atomic_max_non_negative(double* target, double value) {
  atomicMax(reinterpret_cast<unsigned long long*>(target),
            static_cast<unsigned long long>(__double_as_longlong(value)));
}

template <InputType kType>
__global__ __launch_bounds__(kWalkThreads) void product_error_kernel(
    const __grid_constant__ ProductErrorArgs args) {
  double reference_squares = 0.0;
  double error_squares = 0.0;
  double largest = 0.0;
  unsigned long long elements = 0;
  unsigned long long lost = 0;
  unsigned long long undefined = 0;

  const auto enter = [](int, std::int64_t) {};
  const auto visit = [&](const WalkPosition& position) {
    float product[kStep];
    float reference[kStep];
    step_values(load_step<kType>(args.product, position.element / kStep), product);
    step_values(load_step<InputType::Fp32>(args.reference, position.element / kStep), reference);
#pragma unroll
    for (int i = 0; i < kStep; ++i) {
      if (!isfinite(reference[i])) {
        ++undefined;
        continue;
      }
      if (!isfinite(product[i])) {
        ++lost;
        continue;
      }
      const double expected = reference[i];
      const double error = static_cast<double>(product[i]) - expected;
      reference_squares += expected * expected;
      error_squares += error * error;
      largest = fmax(largest, fabs(error));
      ++elements;
    }
  };
  const auto leave = [&](int group) {
    GroupProductError& sums = args.errors[group];
    const double reference_sum = block_sum(reference_squares);
    const double error_sum = block_sum(error_squares);
    const unsigned long long element_sum = block_sum(elements);
    const unsigned long long lost_sum = block_sum(lost);
    const unsigned long long undefined_sum = block_sum(undefined);
    const double warp_largest = warp_max(largest);
    if (threadIdx.x % 32 == 0) atomic_max_non_negative(&sums.max_abs_error, warp_largest);
    if (threadIdx.x == 0) {
      atomicAdd(&sums.reference_squares, reference_sum);
      atomicAdd(&sums.error_squares, error_sum);
      atomicAdd(reinterpret_cast<unsigned long long*>(&sums.elements), element_sum);
      atomicAdd(reinterpret_cast<unsigned long long*>(&sums.lost), lost_sum);
      atomicAdd(reinterpret_cast<unsigned long long*>(&sums.undefined), undefined_sum);
    }
    reference_squares = error_squares = largest = 0.0;
    elements = lost = undefined = 0;
  };
  walk_groups(rows_of(args), enter, visit, leave);
}

}  // namespace

cudaError_t product_error(const ProductErrorArgs& args, cudaStream_t stream) {
  if (!is_aligned(args.product, 16) || !is_aligned(args.reference, 16)) {
    return cudaErrorInvalidValue;
  }
  cudaError_t error = cudaSuccess;
  dispatch_input(args.product_type, [&](auto type) {
    error = launch_walk(product_error_kernel<type()>, args, stream);
  });
  return error;
}

}  // namespace kernels
