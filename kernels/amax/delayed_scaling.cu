// A thread a group: neighbouring groups are neighbours in every row of the history.
#include "kernels/amax/delayed_scaling.h"

#include "kernels/amax/delayed_scaling_rule.h"
#include "kernels/common/launch.cuh"

namespace kernels {
namespace {

constexpr int kUpdateThreads = 32;  // a warp a block: the loops over the history are long

__global__ __launch_bounds__(kUpdateThreads) void delayed_scaling_update_kernel(
    const __grid_constant__ DelayedScalingUpdateArgs args) {
  let_successor_start();
  wait_for_predecessor();
  const int group = static_cast<int>(blockIdx.x * kUpdateThreads + threadIdx.x);
  if (group >= args.num_groups || (args.noop != nullptr && *args.noop == 1.0F)) return;
  update_delayed_scale(args, group);
}

}  // namespace

cudaError_t delayed_scaling_update(const DelayedScalingUpdateArgs& args, LaunchStream stream) {
  if (args.num_groups < 0 || args.num_groups > kMaxGroups || args.length < 1) {
    return cudaErrorInvalidValue;
  }
  if (args.num_groups == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(ceil_div(args.num_groups, kUpdateThreads));
  return launch_dependent(delayed_scaling_update_kernel,
                          {.grid = blocks, .threads = kUpdateThreads}, stream, args);
}

}  // namespace kernels
