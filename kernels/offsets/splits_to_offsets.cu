// Offsets in one launch: one thread block per share of the outputs (offsets_plan.h). Each block
// reads and scans the splits by itself: 1024 of them are 8 KiB in L2, and synchronizing with the
// other blocks would take longer. Graph-safe: the launch depends only on the number of groups and
// the capacity, so a replay follows the splits' contents at that time.
#include <algorithm>

#include "kernels/common/group_tables.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/offsets/offsets_plan.h"
#include "kernels/offsets/splits_to_offsets.h"

namespace kernels {
namespace {

constexpr int kScanThreads = 256;
constexpr int kWarps = kScanThreads / 32;
constexpr int kPerThread = kMaxGroups / kScanThreads;  // adjacent groups
static_assert(kPerThread == 4);

/// Splits of the thread's groups; 0 past the last group.
__device__ __forceinline__ void load_splits(const OffsetsPlan& plan,
                                            std::int64_t (&splits)[kPerThread]) {
  const int first = static_cast<int>(threadIdx.x) * kPerThread;
  const bool whole = first + kPerThread <= plan.num_groups &&
                     reinterpret_cast<std::uintptr_t>(plan.splits) % 16 == 0;
  const auto guarded = [&](const auto* all) {
#pragma unroll
    for (int i = 0; i < kPerThread; ++i)
      splits[i] = first + i < plan.num_groups ? all[first + i] : 0;
  };
  if (plan.split_type == IntegerType::Int32) {
    const auto* all = static_cast<const std::int32_t*>(plan.splits);
    if (!whole) return guarded(all);
    const int4 four = *reinterpret_cast<const int4*>(all + first);
    splits[0] = four.x, splits[1] = four.y, splits[2] = four.z, splits[3] = four.w;
  } else {
    const auto* all = static_cast<const std::int64_t*>(plan.splits);
    if (!whole) return guarded(all);
    const auto* pairs = reinterpret_cast<const longlong2*>(all + first);
    const longlong2 low = pairs[0];
    const longlong2 high = pairs[1];
    splits[0] = low.x, splits[1] = low.y, splits[2] = high.x, splits[3] = high.y;
  }
}

template <typename Sum>
__device__ __forceinline__ Sum sum_of(const Sum (&values)[kPerThread]) {
  return (values[0] + values[1]) + (values[2] + values[3]);
}

/// Inclusive sum over the warp.
template <typename Sum>
__device__ __forceinline__ Sum warp_inclusive_sum(Sum value) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const Sum below = __shfl_up_sync(kFullWarp, value, distance);
    if (lane >= distance) value += below;
  }
  return value;
}

/// Rows of the warp's groups; the sum need not fit in 32 bits.
template <typename Sum>
__device__ __forceinline__ std::int64_t warp_rows(const Sum (&rows)[kPerThread]) {
  if constexpr (sizeof(Sum) == 4) {
    // In halves, since only 32-bit sums have a reduction instruction.
    Sum low = 0;
    Sum high = 0;
#pragma unroll
    for (const Sum value : rows) {
      low += value & 0xFFFFU;
      high += value >> 16;
    }
    return (std::int64_t{__reduce_add_sync(kFullWarp, high)} << 16) +
           __reduce_add_sync(kFullWarp, low);
  } else {
    auto value = static_cast<std::int64_t>(sum_of(rows));
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      value += __shfl_xor_sync(kFullWarp, value, distance);
    }
    return value;
  }
}

/// Sum over the preceding warps.
template <typename Sum>
__device__ __forceinline__ Sum sum_before_warp(const Sum (&totals)[kWarps]) {
  Sum sum = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) {
    if (warp < static_cast<int>(threadIdx.x) / 32) sum += totals[warp];
  }
  return sum;
}

/// Units are nearly always powers of two, and division is a long subroutine.
template <typename Sum>
__device__ __forceinline__ Sum units_of(Sum rows, const PlannedUnit& unit) {
  if (rows == 0) return 0;
  if (unit.shift >= 0) {
    return unit.shift < 8 * static_cast<int>(sizeof(Sum)) ? (rows - 1 >> unit.shift) + 1 : 1;
  }
  // A unit too large for the sums' type holds all rows.
  return rows > static_cast<std::uint64_t>(unit.unit) ? (rows - 1) / static_cast<Sum>(unit.unit) + 1
                                                      : 1;
}

template <typename Sum>
__device__ __forceinline__ void units_of_each(const Sum (&rows)[kPerThread],
                                              const PlannedUnit& unit, Sum (&units)[kPerThread]) {
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) units[i] = units_of(rows[i], unit);
}

/// Clamps the rows to the capacity. Every thread of the block must call.
template <typename Sum>
__device__ __forceinline__ void cut_rows(Sum (&rows)[kPerThread], std::int64_t capacity) {
  __shared__ std::int64_t totals[kWarps];
  std::int64_t own = 0;
  for (const Sum value : rows) own += static_cast<std::int64_t>(value);
  const std::int64_t end = warp_inclusive_sum(own);
  if (threadIdx.x % 32 == 31) totals[threadIdx.x / 32] = end;
  __syncthreads();
  std::int64_t begin = sum_before_warp(totals) + end - own;
  for (Sum& value : rows) {
    const std::int64_t left = max(capacity - begin, std::int64_t{0});
    begin += static_cast<std::int64_t>(value);
    value = min(value, static_cast<Sum>(min(left, static_cast<std::int64_t>(value))));
  }
}

__device__ __forceinline__ std::int32_t to_int32(std::int64_t value, std::uint32_t& error) {
  const auto narrow = static_cast<std::int32_t>(value);
  if (narrow == value) return narrow;
  error |= kOffsetBeyondInt32;
  return value < 0 ? INT32_MIN : INT32_MAX;
}

/// begins: units before each group, followed by the sum of all.
template <typename Sum>
__device__ __forceinline__ void write_output(const PlannedOutput& output, int num_groups,
                                             const Sum* begins, std::uint32_t& error) {
  const int values = num_groups + (output.place == Place::EndsAfterZero ? 1 : 0);
  const Sum* const sums = begins + (output.place == Place::Ends ? 1 : 0);
  for (int i = static_cast<int>(threadIdx.x); i < values; i += kScanThreads) {
    const std::int64_t value =
        output.base + i * output.per_group + static_cast<std::int64_t>(sums[i]) * output.per_unit;
    if (output.type == IntegerType::Int32) {
      static_cast<std::int32_t*>(output.values)[i] = to_int32(value, error);
    } else {
      static_cast<std::int64_t*>(output.values)[i] = value;
    }
  }
}

template <typename Sum>
__device__ __forceinline__ void write_rows(const OffsetsPlan& plan, const Sum* begins,
                                           std::uint32_t& error) {
  for (int i = static_cast<int>(threadIdx.x); i <= plan.num_groups; i += kScanThreads) {
    plan.row_offsets[i] = static_cast<std::int64_t>(begins[i]);
    if (i == plan.num_groups) break;
    const Sum rows = begins[i + 1] - begins[i];
    if (plan.rows != nullptr) plan.rows[i] = to_int32(static_cast<std::int64_t>(rows), error);
    if (plan.padded_rows != nullptr) {
      const auto units = static_cast<std::int64_t>(units_of(rows, plan.padded_rows_unit));
      plan.padded_rows[i] = to_int32(units * plan.padded_rows_unit.unit, error);
    }
  }
}

/// Sum: 32 bits if the capacity allows, which halves the shuffles.
template <typename Sum>
__global__ __launch_bounds__(kScanThreads) void splits_to_offsets_kernel(
    const __grid_constant__ OffsetsPlan plan) {
  wait_for_predecessor();
  __shared__ std::int64_t row_totals[kWarps];
  __shared__ Sum unit_totals[kWarps];
  __shared__ alignas(16) Sum begins[kMaxGroups + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const PlannedShare share = plan.shares[blockIdx.x];
  std::int64_t splits[kPerThread];
  load_splits(plan, splits);
  // One row past the capacity is enough to detect the excess, and keeps absurd splits from
  // overflowing the sums.
  Sum rows[kPerThread];
  std::uint32_t error = 0;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    if (splits[i] < 0) error = kNegativeSplit;
    rows[i] = static_cast<Sum>(max(min(splits[i], plan.capacity_rows + 1), std::int64_t{0}));
  }
  Sum units[kPerThread];
  units_of_each(rows, share.unit, units);
  Sum end = warp_inclusive_sum(sum_of(units));
  const std::int64_t warp_total = warp_rows(rows);
  if (thread % 32 == 31) {
    unit_totals[thread / 32] = end;
    row_totals[thread / 32] = warp_total;
  }
  __syncthreads();
  std::int64_t total = 0;
#pragma unroll
  for (const std::int64_t rows_of_warp : row_totals) total += rows_of_warp;
  if (total > plan.capacity_rows) {
    error |= kSplitsOverCapacity;
    cut_rows(rows, plan.capacity_rows);
    units_of_each(rows, share.unit, units);
    end = warp_inclusive_sum(sum_of(units));
    if (thread % 32 == 31) unit_totals[thread / 32] = end;
    __syncthreads();
  }
  end += sum_before_warp(unit_totals);
  Sum begin = end - sum_of(units);
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    begins[thread * kPerThread + i] = begin;
    begin += units[i];
  }
  if (thread == kScanThreads - 1) begins[kMaxGroups] = end;
  __syncthreads();

  if (blockIdx.x == 0) {
    write_rows(plan, begins, error);
  } else {
    error = 0;  // the first block reports errors of the splits
#pragma unroll
    for (int i = 0; i < kOutputsPerShare; ++i) {
      if (i < share.num_outputs) {
        write_output(share.outputs[i], plan.num_groups, begins, error);
      }
    }
  }
  // Sticky: earlier steps' bits stay until the host clears them. Faults are rare, so only a warp
  // that met one pays.
  error = __reduce_or_sync(kFullWarp, error);
  if (error != 0 && thread % 32 == 0 && plan.error_word != nullptr) {
    atomicOr(plan.error_word, error);
  }
}

}  // namespace

cudaError_t splits_to_offsets(const SplitsToOffsetsArgs& args, LaunchStream stream) {
  if (args.num_groups < 1 || args.num_groups > kMaxGroups) return cudaErrorInvalidValue;
  OffsetsPlan plan;
  if (!make_offsets_plan(args, plan)) return cudaErrorInvalidValue;
  const auto blocks = static_cast<unsigned>(plan.num_shares);
  // No sum of units exceeds the capacity.
  const auto kernel = plan.capacity_rows < INT32_MAX ? splits_to_offsets_kernel<std::uint32_t>
                                                     : splits_to_offsets_kernel<std::uint64_t>;
  return launch_dependent(kernel, {.grid = blocks, .threads = kScanThreads}, stream, plan);
}

}  // namespace kernels
