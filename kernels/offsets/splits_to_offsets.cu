// Offsets in one launch of one block: a thread a group, a scan of the rows, then one scan of every
// other unit that an output asks for, all of them in the same turn. Graph-safe: nothing but the
// number of groups and the capacity reaches the launch, so a replay follows whatever the splits
// hold then.
#include <algorithm>

#include "kernels/common/strip_table.cuh"
#include "kernels/offsets/offsets_plan.h"
#include "kernels/offsets/splits_to_offsets.h"

namespace kernels {
namespace {

constexpr unsigned kWarps = kMaxGroups / 32;

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

/// Sum of the totals of the warps before the caller's.
template <typename Sum>
__device__ __forceinline__ Sum sum_before_warp(const Sum* totals) {
  const unsigned lane = threadIdx.x & 31U;
  Sum value = lane < threadIdx.x / 32 ? totals[lane] : 0;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kFullWarp, value, distance);
  }
  return value;
}

__device__ __forceinline__ std::int32_t to_int32(std::int64_t value, std::uint32_t& error) {
  const auto narrow = static_cast<std::int32_t>(value);
  if (narrow == value) return narrow;
  error |= kOffsetBeyondInt32;
  return value < 0 ? INT32_MIN : INT32_MAX;
}

/// Units are powers of two nearly always, and 64-bit division is a long subroutine.
__device__ __forceinline__ std::int64_t units_of(std::int64_t rows, const PlannedUnit& unit) {
  if (unit.shift >= 0) return (rows + unit.unit - 1) >> unit.shift;
  return ceil_div(rows, unit.unit);
}

__device__ __forceinline__ void store(const PlannedOutput& output, std::int64_t begin,
                                      std::int64_t end, std::uint32_t& error) {
  const int group = static_cast<int>(threadIdx.x);
  const std::int64_t units = output.place == Place::Begins ? begin : end;
  const std::int64_t value = output.base + group * output.per_group + units * output.per_unit;
  const bool after_zero = output.place == Place::EndsAfterZero;
  const int index = group + (after_zero ? 1 : 0);
  if (output.type == IntegerType::Int32) {
    auto* const values = static_cast<std::int32_t*>(output.values);
    values[index] = to_int32(value, error);
    if (after_zero && group == 0) values[0] = 0;
  } else {
    auto* const values = static_cast<std::int64_t*>(output.values);
    values[index] = value;
    if (after_zero && group == 0) values[0] = 0;
  }
}

/// kUnits: units besides the row, at least as many as the plan has (the rest own no output). Sum:
/// 32 bits where the capacity allows, which halves the shuffles.
template <int kUnits, typename Sum>
__global__ __launch_bounds__(kMaxGroups) void splits_to_offsets_kernel(
    const __grid_constant__ OffsetsPlan plan) {
  __shared__ std::int64_t row_totals[kWarps];
  __shared__ Sum unit_totals[kUnits + 1][kWarps];  // + 1: an array of none is not C++
  const int group = static_cast<int>(threadIdx.x);
  const bool owns_group = group < plan.num_groups;
  std::int64_t split = 0;
  if (owns_group) {
    split = plan.split_type == IntegerType::Int32
                ? static_cast<const std::int32_t*>(plan.splits)[group]
                : static_cast<const std::int64_t*>(plan.splits)[group];
  }
  std::uint32_t error = split < 0 ? kNegativeSplit : 0;
  // One row past the capacity is enough to be noticed, and keeps absurd splits from overflowing
  // the sum.
  const std::int64_t wanted = split < 0 ? 0 : min(split, plan.capacity_rows + 1);
  std::int64_t wanted_end = warp_inclusive_sum(wanted);
  if (group % 32 == 31) row_totals[group / 32] = wanted_end;
  __syncthreads();
  wanted_end += sum_before_warp(row_totals);
  if (wanted > 0 && wanted_end > plan.capacity_rows) error |= kSplitsOverCapacity;
  const std::int64_t begin = min(wanted_end - wanted, plan.capacity_rows);
  const std::int64_t end = min(wanted_end, plan.capacity_rows);
  const std::int64_t rows = end - begin;

  [[maybe_unused]] Sum units[kUnits + 1];
  [[maybe_unused]] Sum unit_ends[kUnits + 1];
  if constexpr (kUnits > 0) {
#pragma unroll
    for (int i = 0; i < kUnits; ++i) {
      units[i] = static_cast<Sum>(units_of(rows, plan.units[i + 1]));
      unit_ends[i] = warp_inclusive_sum(units[i]);
      if (group % 32 == 31) unit_totals[i][group / 32] = unit_ends[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kUnits; ++i) unit_ends[i] += sum_before_warp(unit_totals[i]);
  }
  if (owns_group) {
    if (group == 0) plan.row_offsets[0] = 0;
    plan.row_offsets[group + 1] = end;
    if (plan.rows != nullptr) plan.rows[group] = to_int32(rows, error);
    if (plan.padded_rows != nullptr) {
      const std::int64_t padded =
          units_of(rows, plan.padded_rows_unit) * plan.padded_rows_unit.unit;
      plan.padded_rows[group] = to_int32(padded, error);
    }
    for (int i = 0; i < plan.units[0].outputs_end; ++i) store(plan.outputs[i], begin, end, error);
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      const Sum unit_begin = unit_ends[unit] - units[unit];
      for (int i = plan.units[unit].outputs_end; i < plan.units[unit + 1].outputs_end; ++i) {
        store(plan.outputs[i], unit_begin, unit_ends[unit], error);
      }
    }
  }
  // Sticky: earlier steps' bits stay until the host clears them. Faults are rare, so only a warp
  // that met one pays.
  error = __reduce_or_sync(kFullWarp, error);
  if (error != 0 && group % 32 == 0 && plan.error_word != nullptr) {
    atomicOr(plan.error_word, error);
  }
}

template <int kUnits>
void launch(const OffsetsPlan& plan, cudaStream_t stream) {
  const auto threads = static_cast<unsigned>(round_up(plan.num_groups, 32));
  // No sum of units exceeds the capacity.
  if (kUnits == 0 || plan.capacity_rows <= INT32_MAX) {
    splits_to_offsets_kernel<kUnits, std::int32_t><<<1, threads, 0, stream>>>(plan);
  } else {
    splits_to_offsets_kernel<kUnits, std::int64_t><<<1, threads, 0, stream>>>(plan);
  }
}

}  // namespace

cudaError_t splits_to_offsets(const SplitsToOffsetsArgs& args, cudaStream_t stream) {
  if (args.num_groups < 1 || args.num_groups > kMaxGroups) return cudaErrorInvalidValue;
  OffsetsPlan plan;
  if (!make_offsets_plan(args, plan)) return cudaErrorInvalidValue;
  if (plan.num_units <= 1) {
    launch<0>(plan, stream);
  } else if (plan.num_units <= 2) {
    launch<1>(plan, stream);
  } else if (plan.num_units <= 3) {
    launch<2>(plan, stream);
  } else if (plan.num_units <= 5) {
    launch<4>(plan, stream);
  } else if (plan.num_units <= 9) {
    launch<8>(plan, stream);
  } else {
    launch<kMaxUnits - 1>(plan, stream);
  }
  return cudaGetLastError();
}

}  // namespace kernels
