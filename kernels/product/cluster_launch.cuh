// Launches the persistent grid of a product: clusters of thread blocks on a Hopper device.
#pragma once

#include <array>

#include "kernels/common/launch.cuh"

namespace kernels::products {

/// Of the current device; 0 where it cannot run the kernels.
inline int hopper_multiprocessors() {
  int device = 0;
  int major = 0;
  int count = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    return 0;
  }
  return major == 9 ? count : 0;
}

/// The persistent grid of a product: clusters of kCluster blocks, no more than there are units of
/// work.
struct ClusterLaunch {
  std::int64_t units = 0;
  unsigned threads = 0;
  std::size_t shared_bytes = 0;
  std::size_t most_shared_bytes = 0;  // of any launch of this kernel
};

template <unsigned kCluster, typename... Parameters>
cudaError_t launch_clusters(void (*kernel)(Parameters...), const ClusterLaunch& shape,
                            const LaunchStream& on,
                            const std::type_identity_t<Parameters>&... arguments) {
  const int available = hopper_multiprocessors();
  if (available == 0) return cudaErrorNotSupported;
  const cudaError_t allowed = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   static_cast<int>(shape.most_shared_bytes));
  if (allowed != cudaSuccess) return allowed;
  const std::int64_t clusters =
      std::min<std::int64_t>(shape.units, available / static_cast<int>(kCluster));
  cudaLaunchConfig_t config =
      launch_config({.grid = dim3(static_cast<unsigned>(clusters) * kCluster),
                     .threads = shape.threads,
                     .shared_bytes = shape.shared_bytes},
                    on.stream);
  std::array<cudaLaunchAttribute, 2> attributes{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = kCluster;
  attributes[0].val.clusterDim.y = 1;
  attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = attributes.data();
  config.numAttrs = on.programmatic ? 2 : 1;
  return launch_configured(config, kernel, arguments...);
}

}  // namespace kernels::products
