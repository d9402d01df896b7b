// Offsets in one launch of one block: a thread a group, two scans. Graph-safe: nothing but the
// number of groups reaches the launch, so a replay follows whatever the splits hold then.
#include <algorithm>

#include "kernels/common/strip_table.cuh"
#include "kernels/offsets/splits_to_offsets.h"

namespace kernels {
namespace {

/// Inclusive sum over the block. Every thread calls; warp_totals may be reused after the next
/// __syncthreads().
__device__ __forceinline__ std::int64_t block_inclusive_sum(std::int64_t value,
                                                            std::int64_t* warp_totals) {
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread & 31;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const std::int64_t below = __shfl_up_sync(kFullWarp, value, distance);
    if (lane >= distance) value += below;
  }
  if (lane == 31) warp_totals[thread / 32] = value;
  __syncthreads();
  for (int warp = 0; warp < thread / 32; ++warp) value += warp_totals[warp];
  return value;
}

__global__ __launch_bounds__(kMaxGroups) void splits_to_offsets_kernel(
    const __grid_constant__ SplitsToOffsetsArgs args) {
  __shared__ std::int64_t row_totals[32];
  __shared__ std::int64_t padded_totals[32];
  const int group = static_cast<int>(threadIdx.x);
  const bool owns_group = group < args.num_groups;
  const std::int64_t split = owns_group ? args.splits[group] : 0;
  const bool negative = split < 0;
  // One row past the capacity is enough to be noticed, and keeps absurd splits from overflowing
  // the sum.
  const std::int64_t wanted = negative ? 0 : min(split, args.capacity_rows + 1);
  const std::int64_t wanted_end = block_inclusive_sum(wanted, row_totals);
  const std::int64_t begin = min(wanted_end - wanted, args.capacity_rows);
  const std::int64_t end = min(wanted_end, args.capacity_rows);
  const std::int64_t rows = end - begin;
  const std::int64_t padded_rows = round_up(rows, 4);
  const std::int64_t padded_begin = block_inclusive_sum(padded_rows, padded_totals) - padded_rows;
  if (group == 0) args.row_offsets[0] = 0;
  if (owns_group) {
    args.row_offsets[group + 1] = end;
    if (args.rows != nullptr) args.rows[group] = static_cast<std::int32_t>(rows);
    for (int i = 0; i < args.num_pointer_arrays; ++i) {
      const PointerArray& array = args.pointer_arrays[i];
      array.pointers[group] = array.base + group * array.bytes_per_group +
                              begin * array.bytes_per_row +
                              padded_begin * array.bytes_per_padded_row;
    }
  }
  const int any_negative = __syncthreads_or(negative ? 1 : 0);
  const int any_cut = __syncthreads_or(wanted_end > args.capacity_rows ? 1 : 0);
  if (group == 0 && args.error_word != nullptr) {
    // Sticky: earlier steps' bits stay until the host clears them.
    *args.error_word |= (any_negative != 0 ? 1U : 0U) | (any_cut != 0 ? 2U : 0U);
  }
}

}  // namespace

cudaError_t splits_to_offsets(const SplitsToOffsetsArgs& args, cudaStream_t stream) {
  if (args.num_groups < 0 || args.num_groups > kMaxGroups) return cudaErrorInvalidValue;
  if (args.num_pointer_arrays < 0 || args.num_pointer_arrays > kMaxPointerArrays) {
    return cudaErrorInvalidValue;
  }
  const auto threads = static_cast<unsigned>(round_up(std::max(args.num_groups, 1), 32));
  splits_to_offsets_kernel<<<1, threads, 0, stream>>>(args);
  return cudaGetLastError();
}

}  // namespace kernels
