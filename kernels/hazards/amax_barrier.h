// A grouped scale in two phases with a grid-wide barrier between them, as in kernels that split a
// sum over thread blocks.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/hazards/grouped_scale.h"

namespace kernels {

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

}  // namespace kernels
