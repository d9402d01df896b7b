// What is not possible and why: the table of version and architecture gates, and the table of
// settings without effect. The engine follows both; the window greys out controls by them and shows
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
  std::string sentence;  // empty when supported; else what blocks it and what to do
};

/// `linear` says which products the step has: some refusals concern only one.
Verdict recipe_support(const Recipe& recipe, GemmBackend backend, const DeviceCapability& device,
                       const ProductOptions& products = {});
/// The most severe verdict on the recipes of all linear steps of the request.
Verdict recipe_support(const RunRequest& request, const DeviceCapability& device);
/// Products of both projections of an expert layer share: the more severe verdict counts.
Verdict workspace_support(WorkspaceStrategy strategy, const RunRequest& request,
                          const DeviceCapability& device);
Verdict launch_support(const LaunchMode& launch, GemmBackend backend,
                       const DeviceCapability& device);

/// Capability of a device as it describes itself; without `cuda` its versions are not considered.
DeviceCapability capability_of(const DeviceFacts& device, bool cuda);

/// Whether the products of this linear step, a part of what `result` ran, read dequantized
/// operands. Of a result that was recorded elsewhere too.
bool is_emulated(const RunResult& result, const RunRequest& linear);

/// Why the field at this path ("recipe.delayed.margin"), or anything below it, has no effect in a
/// run of this request; empty if it has one. The sentence says what to choose instead.
std::string inapplicable_reason(std::string_view path, const RunRequest& request);

/// The effective settings of a run of this request. A setting without effect gets the value of what
/// happens instead, with a deviation that states inapplicable_reason() if it was not the default.
/// Defaults stay, except pow2_scales, which describes the scales: it is on with MXFP8 and off with
/// NVFP4 regardless of the request.
struct ForcedSettings {
  RunRequest effective;
  std::vector<Deviation> deviations;
};
ForcedSettings forced_settings(const RunRequest& request);

/// One row of the table, for display.
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
