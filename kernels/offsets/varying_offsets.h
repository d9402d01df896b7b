// The offsets of groups that differ in rows, columns or both (first_dims and last_dims), from
// arrays on the device: where the elements, the codes and the scales of each group begin, and the
// dimensions and addresses that a grouped product reads.
// Graph-safe, like splits_to_offsets.h: a replay follows the dimensions at that time.
#pragma once

#include "kernels/common/varying_groups.h"
#include "kernels/offsets/splits_to_offsets.h"

namespace kernels {

/// values[g] = the sum of units.of(rows, columns) over the groups before g.
struct ExtentArray {
  std::int64_t* values = nullptr;  // [num_groups + 1]
  ExtentUnits units = {};
};

/// pointers[g] = base + the sum of units.of(rows, columns) over the groups before g, in bytes.
struct ExtentPointers {
  std::byte* base = nullptr;
  ExtentUnits units = {};
  void** pointers = nullptr;  // [num_groups]
};

inline constexpr int kMaxExtentArrays = 8;
inline constexpr int kMaxExtentPointers = 8;
inline constexpr std::int64_t kColumnAlignment = 16;

/// Bits of an ExtentFault.
inline constexpr std::uint32_t kNegativeRows = 1;
inline constexpr std::uint32_t kUnalignedColumns = 2;  // or negative, or beyond 31 bits
inline constexpr std::uint32_t kGroupsOverCapacity = 4;

/// Sticky: the bits of all launches, and the first group that offended in the first launch that
/// met one, with its value: its columns if they are unaligned, else its rows. The host resets it.
struct ExtentFault {
  std::uint32_t bits = 0;
  std::int32_t group = -1;
  std::int64_t value = 0;
};

/// A group with rows or columns that cannot be counts as one without rows; so does the first that
/// would end beyond a capacity, and all after it: no later kernel leaves its buffers.
struct VaryingOffsetsArgs {
  const void* first_dims = nullptr;  // [num_groups] of dim_type; null = same_rows each
  std::int64_t same_rows = 0;
  const void* last_dims = nullptr;  // [num_groups] of dim_type; null = same_columns each
  std::int64_t same_columns = 0;
  IntegerType dim_type = IntegerType::Int64;
  int num_groups = 0;                   // 1..1024
  std::int64_t capacity_rows = 0;       // of all groups; fits in 31 bits
  std::int64_t capacity_elements = 0;   // fits in 48 bits
  std::int64_t* row_offsets = nullptr;  // [num_groups + 1]
  std::int64_t* columns = nullptr;      // [num_groups], 0 for an offending group
  std::int64_t* elements = nullptr;     // [num_groups + 1]
  std::int32_t* row_dims = nullptr;     // [num_groups] rows as cuBLASLt dimensions; optional
  std::int32_t* column_dims = nullptr;  // [num_groups] columns as cuBLASLt dimensions; optional
  ExtentArray arrays[kMaxExtentArrays] = {};
  int num_arrays = 0;
  ExtentPointers pointers[kMaxExtentPointers] = {};
  int num_pointers = 0;
  ExtentFault* fault = nullptr;  // optional
};

void varying_offsets_cpu(const VaryingOffsetsArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// One launch: a thread block for the rows and elements, one for each other array.
cudaError_t varying_offsets(const VaryingOffsetsArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
