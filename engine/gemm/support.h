// Why not, in one place: the table of version and architecture gates, and the table of settings
// that have no effect in a run. The engine obeys both, the window greys out from them and shows
// their sentences. Plain values, no CUDA, so that they can be asked on any machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/backend_traits.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"

namespace engine {

enum class Support {
  Supported,
  Refused,
  Hazardous,  // runs as asked, and may go wrong
  Fallback,   // runs in another way: products of MXFP8 and NVFP4 on dequantized operands
};
constexpr auto enum_names(Support) {
  return std::to_array<std::string_view>({"supported", "refused", "hazardous", "fallback"});
}

struct Verdict {
  Support support = Support::Supported;
  std::string sentence;  // empty when supported; else what is in the way and what to do
};

/// `linear` decides which products there are: some refusals are about one of them.
Verdict recipe_support(const Recipe& recipe, GemmBackend backend, const DeviceCapability& device,
                       const LinearOptions& linear = {});
Verdict workspace_support(WorkspaceStrategy strategy, const RunRequest& request,
                          const DeviceCapability& device);
Verdict launch_support(const LaunchMode& launch, GemmBackend backend,
                       const DeviceCapability& device);

/// Why the field at this path ("recipe.delayed.margin"), or anything below it, has no effect in a
/// run of this request; empty if it has one. The sentence says what to choose instead.
std::string inapplicable_reason(std::string_view path, const RunRequest& request);

/// What a run of this request does of its settings. One that has no effect gets the value of what
/// happens instead; a deviation says so, with inapplicable_reason(), if it was not at its default.
/// A default asks for nothing and stays as it is; except pow2_scales, which says how the scales are
/// made: it is on with MXFP8 and off with NVFP4 whatever was asked.
struct ForcedSettings {
  RunRequest effective;
  std::vector<Deviation> deviations;
};
ForcedSettings forced_settings(const RunRequest& request);

/// One row of the table as a person reads it.
struct Gate {
  std::string subject;    // what is gated: "FP8 block scaling"
  std::string condition;  // when the row decides
  Support support = Support::Refused;
  std::string sentence;  // as shown for `device`
};
std::vector<Gate> list_gates(const DeviceCapability& device);

/// 131000 -> "13.10.0", 0 -> "none".
std::string cublaslt_version_text(long version);

}  // namespace engine
