// Texts only; which of them can be had is said by engine/gemm/support.h and the worker.
#include "app/gui/shell/request_choices.h"

#include <fmt/format.h>

namespace app::choices {
namespace {

const std::vector<std::string> kDistributions = {"Normal", "Uniform",      "Heavy-tailed",
                                                 "Zeros",  "With inf/NaN", "From a file"};
const std::vector<std::string> kElements = {"BF16", "FP16", "FP32"};
const std::vector<std::string> kRoutings = {
    "Uniform", "Mild (±20 %)",       "Zipf 0.7",   "Heavy (Zipf 1.5)",
    "One-hot", "Half of them empty", "From a file"};
const std::vector<std::string> kScalings = {"BF16",        "FP8 tensor", "FP8 block",
                                            "FP8 delayed", "MXFP8",      "NVFP4"};
const std::vector<std::string> kAlgorithms = {"Most recent", "Max"};
const std::vector<std::string> kFormats = {"E4M3", "E5M2"};
const std::vector<std::string> kWorkspaces = {"Per matmul", "Shared", "Per layout", "Per call"};
const std::vector<std::string> kLaunches = {"Eager", "Graph"};
const std::vector<std::string> kBackends = {"cuBLASLt grouped", "CPU reference",
                                            "cuBLASLt per expert"};
const std::vector<std::string> kPasses = {"Forward", "Backward", "Both"};
const std::vector<std::string> kWeightStorages = {"One tensor", "List"};
const std::vector<std::string> kSetupArrays = {"Per matmul", "Shared"};
const std::vector<std::string> kSplitWidths = {"64 bit", "32 bit"};
const std::vector<std::string> kWgradTypes = {"BF16", "FP32"};
const std::vector<std::string> kHighPrecisions = {"BF16", "FP16"};
const std::vector<std::string> kTraceLevels = {"Nodes", "Graphs", "Off"};
const std::vector<std::string> kCacheModes = {"Warm", "Cold"};
const std::vector<std::string> kPaces = {"Sustained", "Burst"};

template <class Enum>
const std::string& name_in(const std::vector<std::string>& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

}  // namespace

const std::vector<std::string>& distributions() { return kDistributions; }
const std::vector<std::string>& elements() { return kElements; }
const std::vector<std::string>& routings() { return kRoutings; }
const std::vector<std::string>& scalings() { return kScalings; }
const std::vector<std::string>& formats() { return kFormats; }
const std::vector<std::string>& algorithms() { return kAlgorithms; }
const std::vector<std::string>& workspaces() { return kWorkspaces; }
const std::vector<std::string>& launches() { return kLaunches; }
const std::vector<std::string>& backends() { return kBackends; }
const std::vector<std::string>& passes() { return kPasses; }
const std::vector<std::string>& weight_storages() { return kWeightStorages; }
const std::vector<std::string>& setup_arrays() { return kSetupArrays; }
const std::vector<std::string>& split_widths() { return kSplitWidths; }
const std::vector<std::string>& wgrad_types() { return kWgradTypes; }
const std::vector<std::string>& high_precisions() { return kHighPrecisions; }
const std::vector<std::string>& trace_levels() { return kTraceLevels; }
const std::vector<std::string>& cache_modes() { return kCacheModes; }
const std::vector<std::string>& paces() { return kPaces; }

engine::InputSpec& input_of(engine::RunRequest& request, engine::OperandRole role) {
  switch (role) {
    case engine::OperandRole::Activations:
      return request.activations;
    case engine::OperandRole::Weights:
      return request.weights;
    case engine::OperandRole::Gradients:
      break;
  }
  return request.linear.gradients;
}

controls::Options gate(const engine::Verdict& verdict) {
  controls::Options option;
  option.enabled = verdict.support != engine::Support::Refused;
  option.reason = verdict.sentence;
  option.tooltip = verdict.sentence;
  return option;
}

std::string summary(const engine::RunRequest& request) {
  const engine::ShapeSpec& shape = request.shape;
  const std::string what = shape.preset.empty() ? fmt::format("{}x{} {}x{}", shape.num_experts,
                                                              shape.tokens, shape.n, shape.k)
                                                : shape.preset;
  std::string recipe = name_in(scalings(), request.recipe.scaling);
  const engine::Scaling scaling = request.recipe.scaling;
  if (scaling != engine::Scaling::None && scaling != engine::Scaling::Nvfp4) {
    recipe += " " + name_in(formats(), request.recipe.activation_format);
    if (request.recipe.pow2_scales && scaling != engine::Scaling::Mxfp8) recipe += " pow-2";
  }
  return fmt::format("{} · {} · {} · {} ×{}", what, recipe,
                     name_in(routings(), request.routing.distribution),
                     request.launch.kind == engine::LaunchKind::Eager ? "eager" : "graph",
                     request.launch.iterations);
}

}  // namespace app::choices
