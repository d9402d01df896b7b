// The one table of version and architecture gates. The engine obeys it, the window greys out from
// it and shows its sentence. Plain values, no CUDA, so that it can be asked on any machine.
#pragma once

#include <string>
#include <vector>

#include "engine/model/device_capability.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"

namespace engine {

enum class Support {
  Supported,
  Refused,
  Hazardous,  // runs as asked, and may go wrong
  Fallback,   // runs in another way: products of MXFP8 and NVFP4 on dequantized operands
};

struct Verdict {
  Support support = Support::Supported;
  std::string sentence;  // empty when supported; else what stands in the way and what to do
};

/// `linear` decides which products there are: some refusals are about one of them.
Verdict recipe_support(const Recipe& recipe, GemmBackend backend, const DeviceCapability& device,
                       const LinearOptions& linear = {});
Verdict workspace_support(WorkspaceStrategy strategy, const RunRequest& request,
                          const DeviceCapability& device);
Verdict launch_support(const LaunchMode& launch, GemmBackend backend,
                       const DeviceCapability& device);

/// Settings that have only one possible value for this request. `effective` is what runs instead;
/// every change is one deviation with its reason.
struct ForcedSettings {
  RunRequest effective;
  std::vector<Deviation> deviations;
};
ForcedSettings forced_settings(const RunRequest& request);

/// One row of the table as a person reads it.
struct Gate {
  std::string subject;    // what is gated: "FP8 block scaling"
  std::string condition;  // when the row stands in the way
  Support support = Support::Refused;
  std::string sentence;  // as shown for `device`
};
std::vector<Gate> list_gates(const DeviceCapability& device);

/// 131000 -> "13.10.0", 0 -> "none".
std::string cublaslt_version_text(long version);

}  // namespace engine
