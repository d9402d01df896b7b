// Where a launcher puts its kernels, and how. CUDA flavour only.
#pragma once

#include <cuda_runtime_api.h>

namespace kernels {

/// A stream, and whether kernels are put on it with programmatic stream serialization: then one may
/// become resident while its predecessor still runs, and waits for it itself, in its first
/// statement (common/dependent_launch.cuh). What is computed is the same bits either way.
struct LaunchStream {
  cudaStream_t stream = nullptr;
  bool programmatic = false;

  LaunchStream(cudaStream_t on, bool overlaps = false)  // NOLINT: a stream is one, by design
      : stream(on), programmatic(overlaps) {}
};

}  // namespace kernels
