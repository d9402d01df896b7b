// Small grouped kernels that the programs of the hazard gallery are built from: y = x * weight *
// scale, row by row for every expert, with the various ways in which grouped kernels get their
// memory and launches. No CPU twins: the programs compare replays with their own eager launches.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace kernels {

inline constexpr int kHazardRowsPerTile = 16;

/// BF16, row-major. A thread block processes kHazardRowsPerTile rows of one group. Rows past
/// tiles_per_group * kHazardRowsPerTile of a group are not written.
struct GroupedScaleArgs {
  const void* x = nullptr;                    // [capacity_rows, columns]
  void* y = nullptr;                          // [capacity_rows, columns]
  const void* weights = nullptr;              // [num_groups, columns]
  const std::int64_t* row_offsets = nullptr;  // [num_groups + 1]
  int num_groups = 0;
  int columns = 0;  // a multiple of 8
  int tiles_per_group = 0;
  float scale = 1.0F;
  const float* device_scale = nullptr;  // in place of `scale`; null = unused
  /// Every thread block waits this long before it reads anything, in place of a real product's
  /// work.
  std::uint64_t busy_ns = 0;
};

cudaError_t grouped_scale(const GroupedScaleArgs& args, cudaStream_t stream);

/// The same, but a group's rows are found through device arrays of addresses, as in grouped
/// matmuls: [num_groups] addresses of [rows, columns] each. `args.x` is not read.
cudaError_t grouped_scale_addressed(const GroupedScaleArgs& args, const void* const* x_of_group,
                                    cudaStream_t stream);

/// x_of_group[g] = x + row_offsets[g] * columns.
cudaError_t expert_addresses(const GroupedScaleArgs& args, const void** x_of_group,
                             cudaStream_t stream);

/// The same, but products go through a workspace in FP32 before they are rounded.
/// It needs workspace_bytes() bytes; its contents before and after are irrelevant.
cudaError_t grouped_scale_staged(const GroupedScaleArgs& args, float* workspace,
                                 cudaStream_t stream);
constexpr std::int64_t grouped_scale_workspace_bytes(int num_groups, int columns,
                                                     int tiles_per_group) {
  return std::int64_t{num_groups} * tiles_per_group * kHazardRowsPerTile * columns *
         std::int64_t{sizeof(float)};
}

}  // namespace kernels
