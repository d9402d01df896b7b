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
  const auto kernel = instance == LateInstance::Eager ? late_loaded_kernel<LateInstance::Eager>
                                                      : late_loaded_kernel<LateInstance::Captured>;
  return launch_hazard(args, stream, kernel, args);
}

}  // namespace kernels
