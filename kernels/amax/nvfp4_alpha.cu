// One thread per group: two reads and a multiplication, between a step's quantization and its GEMM.
#include "kernels/amax/nvfp4_alpha.h"

#include "kernels/common/launch.cuh"

namespace kernels {
namespace {

__global__ __launch_bounds__(kMaxGroups) void nvfp4_alpha_kernel(
    const __grid_constant__ Nvfp4AlphaArgs args) {
  wait_for_predecessor();
  const int group = static_cast<int>(threadIdx.x);
  if (group < args.num_groups) args.alpha[group] = nvfp4_alpha_of(args, group);
}

}  // namespace

cudaError_t nvfp4_alpha(const Nvfp4AlphaArgs& args, LaunchStream stream) {
  if (args.num_groups < 0 || args.num_groups > kMaxGroups) return cudaErrorInvalidValue;
  if (args.num_groups == 0) return cudaSuccess;
  const auto threads = static_cast<unsigned>(round_up(args.num_groups, 32));
  return launch_dependent(nvfp4_alpha_kernel, {.threads = threads}, stream, args);
}

}  // namespace kernels
