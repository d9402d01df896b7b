// One thread block per group: a single thread rolled 1024 rows in 225 us, three times as long as
// quantizing 16384 x 4096 elements.
#include "kernels/amax/delayed_scaling.h"

#include "kernels/common/launch.cuh"

namespace kernels {
namespace {

constexpr int kUpdateThreads = 256;

/// Rolls the group's column of the history with all threads; thread 0 gets the amax for the next
/// scale. A NaN of this step stays, NaNs in the history are ignored, as in the CPU twin.
__device__ float roll_history(const DelayedScalingUpdateArgs& args, int group) {
  __shared__ float largest_of_warp[kUpdateThreads / 32];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t stride = args.num_groups;
  float* const column = args.history + group;
  const float current = newest_amax(args, group);
  float largest = -INFINITY;
  if (current != 0.0F) {
    // A chunk writes the rows from first - 1 on; only it and the chunks before it read those.
    for (int first = 1; first < args.length; first += kUpdateThreads) {
      const std::int64_t row = first + thread;
      const bool inside = row < args.length;
      const float old = inside ? column[row * stride] : 0.0F;
      __syncthreads();
      if (!inside) continue;
      if (old > largest) largest = old;
      if (row >= 2) column[(row - 1) * stride] = old;
    }
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, distance));
  }
  if (thread % 32 == 0) largest_of_warp[thread / 32] = largest;
  __syncthreads();  // and all threads have read row 0
  if (thread != 0) return 0.0F;
  float amax = current;
  for (const float of_warp : largest_of_warp) {
    if (args.algorithm == AmaxAlgorithm::Max && of_warp > amax) amax = of_warp;
  }
  if (current != 0.0F && args.length > 1) column[(args.length - 1) * stride] = current;
  column[0] = 0.0F;
  return amax;
}

__global__ __launch_bounds__(kUpdateThreads) void delayed_scaling_update_kernel(
    const __grid_constant__ DelayedScalingUpdateArgs args) {
  let_successor_start();
  wait_for_predecessor();
  if (is_noop(args.noop)) return;
  const int group = static_cast<int>(blockIdx.x);
  const float amax = roll_history(args, group);
  if (threadIdx.x == 0) make_delayed_scale(args, group, amax);
}

}  // namespace

cudaError_t delayed_scaling_update(const DelayedScalingUpdateArgs& args, LaunchStream stream) {
  if (args.num_groups < 0 || args.num_groups > kMaxGroups || args.length < 1) {
    return cudaErrorInvalidValue;
  }
  if (args.num_groups == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(args.num_groups);
  return launch_dependent(delayed_scaling_update_kernel,
                          {.grid = blocks, .threads = kUpdateThreads}, stream, args);
}

}  // namespace kernels
