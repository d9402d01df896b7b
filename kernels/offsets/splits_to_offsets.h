// One launch turns device-side splits into everything a grouped step needs: row offsets, cuBLASLt
// row counts and pointer arrays. Graph-safe: the host never learns the splits, a replay follows
// whatever they hold then.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

/// pointers[g] = base + g * bytes_per_group + rows_before_g * bytes_per_row + padded_rows_before_g
/// * bytes_per_padded_row, where padded_rows_before_g sums round_up(splits, 4) of the groups before
/// g (the layout of 1x128 scales).
struct PointerArray {
  std::byte* base = nullptr;
  std::int64_t bytes_per_group = 0;
  std::int64_t bytes_per_row = 0;
  std::int64_t bytes_per_padded_row = 0;
  void** pointers = nullptr;  // [num_groups]
};

inline constexpr int kMaxPointerArrays = 8;

struct SplitsToOffsetsArgs {
  const std::int64_t* splits = nullptr;  // [num_groups], each >= 0
  int num_groups = 0;                    // 1..1024
  std::int64_t capacity_rows = 0;        // rows the operands were allocated for
  std::int64_t* row_offsets = nullptr;   // [num_groups + 1] exclusive prefix sum
  std::int32_t* rows = nullptr;          // [num_groups] splits as cuBLASLt dimensions; optional
  PointerArray pointer_arrays[kMaxPointerArrays] = {};
  int num_pointer_arrays = 0;
  /// Optional, sticky: bit 0 = a negative split, bit 1 = the sum exceeds capacity_rows. An
  /// offending split counts as 0 (bit 0) or is cut at the capacity (bit 1), so that nothing later
  /// leaves its buffer. The host reports it after the step.
  std::uint32_t* error_word = nullptr;
};

void splits_to_offsets_cpu(const SplitsToOffsetsArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
cudaError_t splits_to_offsets(const SplitsToOffsetsArgs& args, cudaStream_t stream);
#endif

}  // namespace kernels
