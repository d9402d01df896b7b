// One launch turns device-side splits into everything a grouped step needs: row offsets, offsets of
// every other layout (padded rows, tiles, scales), cuBLASLt dimensions and pointer arrays.
// Graph-safe: the host never learns the splits; a replay follows their contents at that time.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

enum class IntegerType { Int32, Int64 };

/// Units of group g are ceil_div(its rows, unit); value i is stride * the units of the groups
/// before i. So unit 128 and stride 128 give the ends of groups padded to 128 rows, unit 128 and
/// stride 1 the tiles of 128 rows before a group, unit 4 and stride 4 * blocks the 1x128 scales.
struct OffsetArray {
  void* values = nullptr;  // leading_zero: [num_groups + 1] from 0 on; else [num_groups], the ends
  IntegerType type = IntegerType::Int64;
  bool leading_zero = true;
  std::int64_t unit = 1;    // >= 1
  std::int64_t stride = 1;  // any; its products with sums of units must fit 64 bits
};

/// pointers[g] = base + g * bytes_per_group + bytes_per_unit * the units of the groups before g.
struct PointerArray {
  std::byte* base = nullptr;
  std::int64_t bytes_per_group = 0;
  std::int64_t bytes_per_unit = 0;
  std::int64_t unit = 1;      // >= 1
  void** pointers = nullptr;  // [num_groups]
};

inline constexpr int kMaxOffsetArrays = 8;
inline constexpr int kMaxPointerArrays = 32;

/// Bits of the error word.
inline constexpr std::uint32_t kNegativeSplit = 1;
inline constexpr std::uint32_t kSplitsOverCapacity = 2;
inline constexpr std::uint32_t kOffsetBeyondInt32 = 4;

struct SplitsToOffsetsArgs {
  const void* splits = nullptr;  // [num_groups] of split_type, each >= 0
  IntegerType split_type = IntegerType::Int64;
  int num_groups = 0;                   // 1..1024
  std::int64_t capacity_rows = 0;       // rows the operands were allocated for
  std::int64_t* row_offsets = nullptr;  // [num_groups + 1] exclusive prefix sum
  std::int32_t* rows = nullptr;         // [num_groups] splits as cuBLASLt dimensions; optional
  std::int32_t* padded_rows = nullptr;  // [num_groups] the same, rounded up; optional
  std::int64_t padded_rows_unit = 1;    // ... to a multiple of this, >= 1
  OffsetArray offset_arrays[kMaxOffsetArrays] = {};
  int num_offset_arrays = 0;
  PointerArray pointer_arrays[kMaxPointerArrays] = {};
  int num_pointer_arrays = 0;
  /// Optional, sticky: bit 0 = a negative split, bit 1 = the sum exceeds capacity_rows, bit 2 = a
  /// value that its 32-bit output cannot hold. An offending split counts as 0 (bit 0) or is clamped
  /// to the capacity (bit 1), so that no later kernel leaves its buffer; an offending value is
  /// written as the nearest one that fits (bit 2). The host reports it after the step.
  std::uint32_t* error_word = nullptr;
};

void splits_to_offsets_cpu(const SplitsToOffsetsArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// One thread block for every two outputs of the same unit; each block scans the splits by itself,
/// so that the time hardly depends on the number of outputs.
cudaError_t splits_to_offsets(const SplitsToOffsetsArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
