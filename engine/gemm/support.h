// The one table of version and architecture gates. The engine obeys it, the window greys out from
// it and shows its sentence. Plain values, no CUDA, so that it can be asked on any machine.
#pragma once

#include <string>

#include "engine/model/run_request.h"

namespace engine {

/// What the gates depend on. Versions as cublasLtGetVersion() gives them: 13.10.0 -> 131000, 0 =
/// not loaded.
struct DeviceCapability {
  bool cuda = false;
  int compute_major = 0;
  int compute_minor = 0;
  long cublaslt_version = 0;
};

enum class Support { Supported, Refused, Hazardous };

struct Verdict {
  Support support = Support::Supported;
  std::string sentence;  // empty when supported; else what stands in the way and what to do
};

Verdict recipe_support(const Recipe& recipe, GemmBackend backend, const DeviceCapability& device);
Verdict workspace_support(WorkspaceStrategy strategy, const RunRequest& request,
                          const DeviceCapability& device);
Verdict launch_support(const LaunchMode& launch, GemmBackend backend,
                       const DeviceCapability& device);

}  // namespace engine
