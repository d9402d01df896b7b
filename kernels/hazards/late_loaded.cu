// Kernels in a module of their own, so that nothing else causes them to be loaded.
#include "kernels/hazards/grouped_scale.h"

#include "kernels/hazards/grouped_scale_tile.cuh"

namespace kernels {
namespace {

template <LateInstance>
__global__ __launch_bounds__(kHazardThreads) void late_loaded_kernel(
    const __grid_constant__ GroupedScaleArgs args) {
  scale_hazard_tile(args);
}

}  // namespace

cudaError_t grouped_scale_instance(const GroupedScaleArgs& args, LateInstance instance,
                                   cudaStream_t stream) {
  if (const cudaError_t error = check_hazard_grid(args); error != cudaSuccess) return error;
  const auto kernel = instance == LateInstance::Eager ? late_loaded_kernel<LateInstance::Eager>
                                                      : late_loaded_kernel<LateInstance::Captured>;
  kernel<<<hazard_grid(args), kHazardThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

}  // namespace kernels
