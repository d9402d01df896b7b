// Programmatic dependent launch between the kernels of a step: the launch, and the two statements
// in a kernel that make it correct.
//
// Every kernel that is launched here waits in its first statement, in every thread: then it ends
// after its predecessor, so that waiting for the predecessor alone waits for all work before it. A
// kernel that read before the wait, or a block that exited without it, would break that chain for
// every later kernel. A predecessor that is not ours (cuBLASLt) and never triggers is waited for
// until it ends, as without the attribute.
#pragma once

#include "kernels/common/launch_stream.h"

namespace kernels {

/// Waits until everything before this grid has ended and its writes are visible. Returns at once in
/// a grid launched without the attribute.
__device__ __forceinline__ void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// Lets the next grid become resident once every block of this one has reached this call. For
/// kernels followed by another of ours, which waits and becomes resident as these blocks exit.
__device__ __forceinline__ void let_successor_start() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

struct LaunchShape {
  dim3 grid = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;
};

/// Kernels launched here begin with wait_for_predecessor(). The error is taken, not peeked at: a
/// rejected launch must not be blamed on the next launcher.
template <typename... Parameters>
cudaError_t launch_dependent(void (*kernel)(Parameters...), const LaunchShape& shape,
                             const LaunchStream& on, const Parameters&... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = on.stream;
  config.attrs = &attribute;
  config.numAttrs = on.programmatic ? 1U : 0U;
  const cudaError_t launched = cudaLaunchKernelEx(&config, kernel, arguments...);
  const cudaError_t noted = cudaGetLastError();
  return launched != cudaSuccess ? launched : noted;
}

}  // namespace kernels
