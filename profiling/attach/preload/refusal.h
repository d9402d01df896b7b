// Why something that this library wanted to do could not be done.
#pragma once

#include "profiling/attach/preload/driver_names.h"

namespace attach {

/// The driver's code and the call that gave it.
struct Refusal {
  CUresult result = CUDA_SUCCESS;
  const char* call = "";
  explicit operator bool() const { return result != CUDA_SUCCESS; }
};

}  // namespace attach
