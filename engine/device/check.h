// cudaError_t -> engine::Error with a sentence, and the macro that returns it. Nothing here ends
// the process: a sticky CUDA error ends the worker's usefulness, not the worker.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "engine/model/error.h"

namespace engine {

/// "<doing> failed: <CUDA's text> (<CUDA's name>)"; out of memory keeps its own code.
Error cuda_error(cudaError_t error, const char* doing);
inline Status check_cuda(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return {};
  return cuda_error(error, doing);
}

}  // namespace engine

/// In a function that returns Status or Result<T>: returns a failed CUDA call as an Error.
#define ENGINE_CUDA_TRY(call, doing)                                              \
  do {                                                                            \
    if (const cudaError_t cuda_try_error = (call); cuda_try_error != cudaSuccess) \
      return ::engine::cuda_error(cuda_try_error, doing);                         \
  } while (false)
