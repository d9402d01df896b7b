// A producer that triggers early and its consumer; needs compute capability 9.0 for either call.
#include "kernels/hazards/grouped_scale.h"

#include "kernels/hazards/grouped_scale_tile.cuh"

namespace kernels {
namespace {

__global__ __launch_bounds__(kHazardThreads) void early_trigger_kernel(
    const __grid_constant__ GroupedScaleArgs args) {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  hazard_busy(args.busy_ns);
  scale_hazard_tile(args);
}

template <bool kWaits>
__global__ __launch_bounds__(kHazardThreads) void dependent_kernel(
    const __grid_constant__ GroupedScaleArgs args) {
#if __CUDA_ARCH__ >= 900
  if constexpr (kWaits) cudaGridDependencySynchronize();
#endif
  scale_hazard_tile(args);
}

}  // namespace

cudaError_t grouped_scale_early_trigger(const GroupedScaleArgs& args, cudaStream_t stream) {
  if (const cudaError_t error = check_hazard_grid(args); error != cudaSuccess) return error;
  early_trigger_kernel<<<hazard_grid(args), kHazardThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

cudaError_t grouped_scale_dependent(const GroupedScaleArgs& args, DependentLaunch launch,
                                    cudaStream_t stream) {
  if (const cudaError_t error = check_hazard_grid(args); error != cudaSuccess) return error;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = hazard_grid(args);
  config.blockDim = dim3(kHazardThreads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = launch.programmatic ? 1U : 0U;
  const auto kernel = launch.waits_for_producer ? dependent_kernel<true> : dependent_kernel<false>;
  const cudaError_t launched = cudaLaunchKernelEx(&config, kernel, args);
  const cudaError_t noted = cudaGetLastError();
  return launched != cudaSuccess ? launched : noted;
}

}  // namespace kernels
