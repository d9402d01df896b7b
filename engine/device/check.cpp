// The wording of CUDA errors, in one place.
#include "engine/device/check.h"

#include <fmt/format.h>

namespace engine {

Error cuda_error(cudaError_t error, const char* doing) {
  // Clears a non-sticky error, so that the next launcher's cudaGetLastError is not blamed for it.
  (void)cudaGetLastError();
  return {.code = error == cudaErrorMemoryAllocation ? ErrorCode::OutOfMemory : ErrorCode::Device,
          .message = fmt::format("{} failed: {} ({})", doing, cudaGetErrorString(error),
                                 cudaGetErrorName(error)),
          .device_error = static_cast<int>(error)};
}

}  // namespace engine
