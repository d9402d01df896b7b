// What every CPU twin is built from: which group a row belongs to, and the inner loops over
// consecutive elements, compiled for several instruction sets and selected at load time.
#pragma once

#include <algorithm>

#include "kernels/common/types.h"

// Lets one portable binary use the widest vectors of the machine it runs on: the loader picks a
// clone. Only for loops without OpenMP regions, whose outlined bodies would not be cloned. The
// dispatch happens at load time, before a sanitizer is initialized: those builds do without it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KERNELS_VECTOR_CLONES \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define KERNELS_VECTOR_CLONES
#endif

namespace kernels {

/// The last group that starts at or before `row`, so that empty groups are skipped;
/// row < row_offsets[num_groups].
inline int group_of_row(const GroupedInput& input, std::int64_t row) {
  const std::int64_t* ends = input.row_offsets + 1;
  return static_cast<int>(std::upper_bound(ends, ends + input.num_groups, row) - ends);
}

/// Rows that hold tokens; the rest of the capacity is not touched.
inline std::int64_t active_rows(const GroupedInput& input) {
  return input.row_offsets[input.num_groups];
}

/// Below this many elements a cast takes less time than waking other threads.
inline constexpr std::int64_t kThreadedElements = std::int64_t{1} << 16;

/// `count` elements of a row-major input, starting at element `first`.
struct ElementRun {
  const void* input = nullptr;
  InputType type = InputType::Bf16;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// max |x|, widened exactly to FP32. NaN elements are ignored, inf is not; 0 for an empty run.
float run_amax(const ElementRun& run);

/// output[i] = float(x[first + i]), exact.
void widen_run(const ElementRun& run, float* output);

/// output[first + i] = values[i] rounded to nearest even; NaN becomes 0x7FFF or 0x7FFFFFFF.
void round_run(const float* values, std::int64_t count, InputType type, void* output,
               std::int64_t first);

/// output[i] = cast(float(x[first + i]) * scale).
void cast_run(const ElementRun& run, float scale, Fp8Format format, std::uint8_t* output);

/// gate[i] = activated(gate[i], up[i]), rounded to `type` and widened again; `up` may be null
/// unless gated.
void activate_run(const Activation& activation, InputType type, const float* up, std::int64_t count,
                  float* gate);
/// gate[i] = the gradient of gate[i], or of up[i], for the gradient dy[i].
void activation_gradient_run(const Activation& activation, InputType type, const float* up,
                             const float* dy, bool of_up, std::int64_t count, float* gate);

/// The bits of `value` rounded to nearest even; NaN becomes 0x7FFF.
std::uint16_t round_to_bf16(float value);
std::uint16_t round_to_fp16(float value);

}  // namespace kernels
