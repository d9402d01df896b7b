// cudaError_t -> engine::Error with a sentence, and the two macros that hand an error up. Nothing
// here ends the process: a sticky CUDA error ends the worker's usefulness, not the worker.
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

/// Inside a function that returns Status or Result<T>: hand a failed CUDA call up as its Error.
#define ENGINE_CUDA_TRY(call, doing)                                              \
  do {                                                                            \
    if (const cudaError_t cuda_try_error = (call); cuda_try_error != cudaSuccess) \
      return ::engine::cuda_error(cuda_try_error, doing);                         \
  } while (false)

/// The same for anything with ok() and error().
#define ENGINE_TRY(expression)                            \
  do {                                                    \
    if (auto try_result = (expression); !try_result.ok()) \
      return ::engine::Error(try_result.error());         \
  } while (false)
