// The two inner loops that every CPU twin is built from: the largest magnitude of consecutive
// elements, and their cast to FP8. Compiled for several instruction sets, selected at load time.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

/// `count` elements of a row-major input, starting at element `first`.
struct ElementRun {
  const void* input = nullptr;
  InputType type = InputType::Bf16;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// max |x|, widened exactly to FP32. NaN elements are ignored, inf is not; 0 for an empty run.
float run_amax(const ElementRun& run);

/// output[i] = cast(float(x[first + i]) * scale).
void cast_run(const ElementRun& run, float scale, Fp8Format format, std::uint8_t* output);

}  // namespace kernels
