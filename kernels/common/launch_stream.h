// The stream on which a launcher launches its kernels, and how. CUDA flavour only.
#pragma once

#include <cuda_runtime_api.h>

namespace kernels {

/// A stream, and whether kernels are launched on it with programmatic stream serialization: then a
/// kernel may become resident while its predecessor still runs, and waits for it in its own first
/// statement (common/dependent_launch.cuh). The results have the same bits either way.
struct LaunchStream {
  cudaStream_t stream = nullptr;
  bool programmatic = false;

  LaunchStream(cudaStream_t on, bool overlaps = false)  // NOLINT: implicit by design
      : stream(on), programmatic(overlaps) {}
};

}  // namespace kernels
