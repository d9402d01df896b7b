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
  /// work; with a workspace, between writing it and reading it again.
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

// A grouped scale in two phases with a grid-wide barrier between them, as in kernels that split a
// sum over thread blocks.

/// All blocks must be resident at once, so they are few.
inline constexpr int kBarrierBlocks = 16;

struct AmaxBarrierArgs {
  GroupedScaleArgs scale;         // tiles_per_group and busy_ns are not read
  float* partial_amax = nullptr;  // [kBarrierBlocks], scratch
  /// Arrived blocks. Must be 0 when the kernel starts; holds kBarrierBlocks when it ends.
  std::uint32_t* arrived = nullptr;
  std::uint32_t* gave_up = nullptr;  // set to 1 when a block has waited for give_up_ns
  std::uint64_t give_up_ns = 20'000'000'000;
};

/// y = x * weight * scale / (largest |x| of all groups).
cudaError_t scale_by_amax(const AmaxBarrierArgs& args, cudaStream_t stream);

// Two grouped scales that may overlap: the first lets the second start early (programmatic
// dependent launch), and the second either waits for the first one's writes or does not.

/// Lets a dependent launch start before its own work, busy_ns included.
cudaError_t grouped_scale_early_trigger(const GroupedScaleArgs& args, cudaStream_t stream);

struct DependentLaunch {
  bool programmatic = false;       // launched with programmatic stream serialization
  bool waits_for_producer = true;  // executes griddepcontrol.wait before it reads
};
cudaError_t grouped_scale_dependent(const GroupedScaleArgs& args, DependentLaunch launch,
                                    cudaStream_t stream);

// One kernel in two instances, so that a program can run one and load the other late.

enum class LateInstance { Eager, Captured };

/// Both give the same result; each is loaded by its own first launch.
cudaError_t grouped_scale_instance(const GroupedScaleArgs& args, LateInstance instance,
                                   cudaStream_t stream);

}  // namespace kernels
