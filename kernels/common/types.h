// Operand types shared by every kernel and its CPU twin. Host-safe; CUDA's own types only in the
// CUDA flavour.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/formats.h"

#ifdef EXPERTSCOPE_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

namespace kernels {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

inline constexpr std::int64_t kBlock = 128;  // side of a scale block of FP8 block scaling

struct ScaleOptions {
  bool pow2 = false;
  float amax_epsilon = 0.0F;
};

/// One packed grouped operand: group g owns rows [row_offsets[g], row_offsets[g + 1]) of `input`.
/// On a GPU all pointers are device pointers and the host never knows row_offsets; for a CPU twin
/// all are host ones. Rows from row_offsets[num_groups] on (capacity_rows may be larger) are
/// neither read nor written.
struct GroupedInput {
  const void* input = nullptr;  // [capacity_rows, columns] row-major
  InputType type = InputType::Bf16;
  const std::int64_t* row_offsets = nullptr;  // [num_groups + 1]
  int num_groups = 0;
  std::int64_t capacity_rows = 0;
  std::int64_t columns = 0;  // multiple of 16
};

}  // namespace kernels
