// Largest magnitude of every group: the first pass of per-tensor current scaling.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

struct GroupAmaxArgs {
  GroupedInput input;
  /// [num_groups]; 0 for an empty group. NaN elements are ignored, inf is not.
  float* amax = nullptr;
  const float* noop = nullptr;  // optional scalar: 1 = leave amax unchanged
};

void group_amax_cpu(const GroupAmaxArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// Zeroes amax, then accumulates: two graph nodes at most (a memset and a kernel).
cudaError_t group_amax(const GroupAmaxArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
