// One kernel in two instances, so that a program can run one and load the other late.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/hazards/grouped_scale.h"

namespace kernels {

enum class LateInstance { Eager, Captured };

/// Both give the same result; each is loaded by its own first launch.
cudaError_t grouped_scale_instance(const GroupedScaleArgs& args, LateInstance instance,
                                   cudaStream_t stream);

}  // namespace kernels
