// Amax of every group in one read: a warp reduces its run of elements in registers and issues one
// atomic. Non-negative floats order like their bits, so the atomic is an integer maximum.
#include "kernels/amax/clear_amax.cuh"
#include "kernels/amax/group_amax.h"
#include "kernels/common/activated_step.cuh"
#include "kernels/common/group_search.cuh"
#include "kernels/common/launch.cuh"

namespace kernels {
namespace {

template <InputType kType, bool kActivated>
__global__ __launch_bounds__(kThreads) void group_amax_kernel(
    const __grid_constant__ GroupAmaxArgs args) {
  let_successor_start();
  wait_for_predecessor();
  constexpr int kUnroll = 4;  // independent loads in flight
  if (is_noop(args.noop)) return;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  for_each_group_run(args.input, [&](int group, std::int64_t begin, std::int64_t end) {
    float amax = 0.0F;
    std::int64_t step = begin + lane;
    for (; step + (kUnroll - 1) * 32 < end; step += kUnroll * 32) {
      RawStep<kType> raw[kUnroll];
#pragma unroll
      for (int i = 0; i < kUnroll; ++i) {
        raw[i] = activated_step_at<kType, kActivated>(args.input, step + i * 32);
      }
#pragma unroll
      for (int i = 0; i < kUnroll; ++i) amax = step_amax(raw[i], amax);
    }
    for (; step < end; step += 32) {
      amax = step_amax(activated_step_at<kType, kActivated>(args.input, step), amax);
    }
    const unsigned bits = __reduce_max_sync(kFullWarp, __float_as_uint(amax));
    if (lane == 0 && bits != 0) {
      atomicMax(reinterpret_cast<unsigned*>(args.amax + group), bits);
    }
  });
}

}  // namespace

cudaError_t group_amax(const GroupAmaxArgs& args, LaunchStream stream) {
  const GroupedInput& input = args.input;
  if (const cudaError_t bad = check_operands(input, nullptr); bad != cudaSuccess) return bad;
  if (input.num_groups == 0) return cudaSuccess;
  const std::int64_t steps = input.capacity_rows * input.columns / kStep;
  const bool activated = !input.activation.is_none();
  if (activated && steps > std::int64_t{UINT32_MAX}) return cudaErrorInvalidValue;
  cudaError_t error = clear_amax(args.amax, input.num_groups, args.noop, stream);
  if (error != cudaSuccess) return error;
  dispatch_input(input.type, [&](auto type) {
    const auto launch = [&](auto kernel) {
      error = launch_dependent(
          kernel, {.grid = resident_grid(kernel, steps, kThreads), .threads = kThreads}, stream,
          args);
    };
    launch(activated ? group_amax_kernel<type(), true> : group_amax_kernel<type(), false>);
  });
  return error;
}

}  // namespace kernels
