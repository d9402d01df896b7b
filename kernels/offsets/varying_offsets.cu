// A thread per group and a thread block per array: every block checks the dimensions by itself, as
// in splits_to_offsets.cu.
#include "kernels/common/group_search.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/offsets/varying_extent.h"

namespace kernels {
namespace {

constexpr int kScanWarps = kMaxGroups / 32;

/// Inclusive sum over the threads of the block, all of which call. A pair of calls needs two sets
/// of totals.
__device__ __forceinline__ std::int64_t block_inclusive_sum(std::int64_t value,
                                                            std::int64_t (&totals)[kScanWarps]) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const std::int64_t below = __shfl_up_sync(kFullWarp, value, distance);
    if (lane >= distance) value += below;
  }
  if (lane == 31) totals[warp] = value;
  __syncthreads();
  const auto warps = static_cast<int>(blockDim.x / 32);
  std::int64_t total = lane < warp && lane < warps ? totals[lane] : 0;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    total += __shfl_xor_sync(kFullWarp, total, distance);
  }
  return value + total;
}

__global__ __launch_bounds__(kMaxGroups) void varying_offsets_kernel(
    const __grid_constant__ VaryingOffsetsArgs args) {
  wait_for_predecessor();
  __shared__ std::int64_t totals[3][kScanWarps];
  __shared__ int first_fault;
  __shared__ std::uint32_t bits;
  const int group = static_cast<int>(threadIdx.x);
  const bool exists = group < args.num_groups;
  if (group == 0) {
    first_fault = kMaxGroups;
    bits = 0;
  }
  CheckedExtent extent = exists ? checked_extent(args, group) : CheckedExtent{};
  const std::int64_t end_row = block_inclusive_sum(extent.rows, totals[0]);
  const std::int64_t end_element = block_inclusive_sum(extent.elements(args), totals[1]);
  if (extent.rows > 0 && over_capacity(args, end_row, end_element)) {
    extent = without_place(extent);
  }
  const bool of_rows = blockIdx.x == 0;
  const int array = static_cast<int>(blockIdx.x) - 1;
  const bool of_pointers = array >= args.num_arrays;
  const ExtentUnits units = of_rows       ? ExtentUnits{}
                            : of_pointers ? args.pointers[array - args.num_arrays].units
                                          : args.arrays[array].units;
  const std::int64_t own = units.of(extent.rows, extent.columns);
  const std::int64_t end = block_inclusive_sum(own, totals[2]);
  if (exists && of_pointers) {
    const ExtentPointers& output = args.pointers[array - args.num_arrays];
    output.pointers[group] = output.base + (end - own);
  } else if (exists) {
    std::int64_t* const values = of_rows ? args.elements : args.arrays[array].values;
    if (group == 0) values[0] = 0;
    values[group + 1] = end;
  }
  if (!of_rows) return;
  __syncthreads();
  const std::int64_t row = block_inclusive_sum(extent.rows, totals[0]);
  if (exists) {
    if (group == 0) args.row_offsets[0] = 0;
    args.row_offsets[group + 1] = row;
    args.columns[group] = extent.columns;
    if (args.row_dims != nullptr) args.row_dims[group] = static_cast<std::int32_t>(extent.rows);
    if (args.column_dims != nullptr) {
      args.column_dims[group] = static_cast<std::int32_t>(extent.columns);
    }
  }
  if (args.fault == nullptr) return;
  if (extent.fault != 0) {
    atomicMin(&first_fault, group);
    atomicOr(&bits, extent.fault);
  }
  __syncthreads();
  if (group != first_fault) return;
  if (args.fault->bits == 0) {
    args.fault->group = group;
    args.fault->value = extent.value;
  }
  args.fault->bits |= bits;
}

}  // namespace

cudaError_t varying_offsets(const VaryingOffsetsArgs& args, LaunchStream stream) {
  if (args.num_groups < 1 || args.num_groups > kMaxGroups || args.num_arrays < 0 ||
      args.num_arrays > kMaxExtentArrays || args.num_pointers < 0 ||
      args.num_pointers > kMaxExtentPointers || args.capacity_rows < 0 ||
      args.capacity_rows >= INT32_MAX || args.capacity_elements < 0 ||
      args.capacity_elements >= std::int64_t{1} << 48) {
    return cudaErrorInvalidValue;
  }
  const auto divides = [](const ExtentUnits& units) {
    return units.row_unit >= 1 && units.column_unit >= 1;
  };
  for (int i = 0; i < args.num_arrays; ++i) {
    if (!divides(args.arrays[i].units)) return cudaErrorInvalidValue;
  }
  for (int i = 0; i < args.num_pointers; ++i) {
    if (!divides(args.pointers[i].units)) return cudaErrorInvalidValue;
  }
  const auto threads = static_cast<unsigned>(round_up(args.num_groups, 32));
  return launch_dependent(
      varying_offsets_kernel,
      {.grid = static_cast<unsigned>(1 + args.num_arrays + args.num_pointers), .threads = threads},
      stream, args);
}

}  // namespace kernels
