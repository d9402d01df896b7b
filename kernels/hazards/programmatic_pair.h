// Two grouped scales that may overlap: the first lets the second start early (programmatic
// dependent launch), and the second may or may not wait for the first one's writes.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/hazards/grouped_scale.h"

namespace kernels {

/// Lets a dependent launch start before its own work, busy_ns included.
cudaError_t grouped_scale_early_trigger(const GroupedScaleArgs& args, cudaStream_t stream);

struct DependentLaunch {
  bool programmatic = false;       // launched with programmatic stream serialization
  bool waits_for_producer = true;  // executes griddepcontrol.wait before it reads
};
cudaError_t grouped_scale_dependent(const GroupedScaleArgs& args, DependentLaunch launch,
                                    cudaStream_t stream);

}  // namespace kernels
