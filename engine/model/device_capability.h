// What version and architecture gates depend on.
#pragma once

namespace engine {

/// Versions as cublasLtGetVersion() gives them: 13.10.0 -> 131000, 0 =
/// not loaded. The fourth part of a package version (13.6.2.16) cannot be seen.
struct DeviceCapability {
  bool cuda = false;
  int compute_major = 0;
  int compute_minor = 0;
  long cublaslt_version = 0;
};

}  // namespace engine
