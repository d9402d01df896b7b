// Words for the settings of a run. Values read from a file may lie outside an enumeration: those
// are "unknown".
#include "profiling/export/setting_names.h"

#include <fmt/format.h>

#include <variant>

namespace profiling {

namespace {

std::string_view distribution_name(engine::Distribution distribution) {
  switch (distribution) {
    case engine::Distribution::Normal:
      return "normal";
    case engine::Distribution::Uniform:
      return "uniform";
    case engine::Distribution::HeavyTailed:
      return "heavy-tailed";
    case engine::Distribution::Zeros:
      return "zeros";
    case engine::Distribution::NonFinite:
      return "non-finite";
  }
  return "unknown";
}

std::string_view element_name(engine::ElementType element) {
  switch (element) {
    case engine::ElementType::Bf16:
      return "bf16";
    case engine::ElementType::Fp16:
      return "fp16";
    case engine::ElementType::Fp32:
      return "fp32";
  }
  return "unknown";
}

}  // namespace

std::string_view scaling_name(engine::Scaling scaling) {
  switch (scaling) {
    case engine::Scaling::None:
      return "bf16";
    case engine::Scaling::PerTensorCurrent:
      return "fp8-per-tensor";
    case engine::Scaling::Block:
      return "fp8-block";
    case engine::Scaling::PerTensorDelayed:
      return "fp8-delayed";
    case engine::Scaling::Mxfp8:
      return "mxfp8";
    case engine::Scaling::Nvfp4:
      return "nvfp4";
  }
  return "unknown";
}

std::string_view format_name(engine::Fp8Format format) {
  switch (format) {
    case engine::Fp8Format::E4m3:
      return "e4m3";
    case engine::Fp8Format::E5m2:
      return "e5m2";
  }
  return "unknown";
}

std::string_view backend_name(engine::GemmBackend backend) {
  switch (backend) {
    case engine::GemmBackend::CublasLtGrouped:
      return "cublaslt-grouped";
    case engine::GemmBackend::CpuReference:
      return "cpu-reference";
    case engine::GemmBackend::CublasLtPerExpert:
      return "cublaslt-per-expert";
  }
  return "unknown";
}

std::string_view launch_name(engine::LaunchKind launch) {
  switch (launch) {
    case engine::LaunchKind::Eager:
      return "eager";
    case engine::LaunchKind::GraphReplay:
      return "graph-replay";
  }
  return "unknown";
}

std::string_view workspace_name(engine::WorkspaceStrategy workspace) {
  switch (workspace) {
    case engine::WorkspaceStrategy::PerMatmul:
      return "per-matmul";
    case engine::WorkspaceStrategy::Shared:
      return "shared";
    case engine::WorkspaceStrategy::PerLayout:
      return "per-layout";
    case engine::WorkspaceStrategy::PerCall:
      return "per-call";
  }
  return "unknown";
}

std::string_view routing_name(engine::RoutingDistribution routing) {
  switch (routing) {
    case engine::RoutingDistribution::Uniform:
      return "uniform";
    case engine::RoutingDistribution::Mild:
      return "mild";
    case engine::RoutingDistribution::Zipf:
      return "zipf";
    case engine::RoutingDistribution::Heavy:
      return "heavy";
    case engine::RoutingDistribution::OneHot:
      return "one-hot";
    case engine::RoutingDistribution::HalfEmpty:
      return "half-empty";
    case engine::RoutingDistribution::File:
      return "file";
  }
  return "unknown";
}

std::string input_name(const engine::InputSpec& input) {
  if (const auto* synthetic = std::get_if<engine::SyntheticInput>(&input)) {
    return fmt::format("{} {}", distribution_name(synthetic->distribution),
                       element_name(synthetic->element));
  }
  const auto& file = std::get<engine::FileInput>(input);
  return file.tensor.empty() ? file.path : fmt::format("{}:{}", file.path, file.tensor);
}

std::string_view algorithm_name(kernels::AmaxAlgorithm algorithm) {
  switch (algorithm) {
    case kernels::AmaxAlgorithm::MostRecent:
      return "most-recent";
    case kernels::AmaxAlgorithm::Max:
      return "max";
  }
  return "unknown";
}

std::string recipe_title(const engine::Recipe& recipe) {
  const std::string name(scaling_name(recipe.scaling));
  const bool pow2 = recipe.pow2_scales;
  switch (recipe.scaling) {
    case engine::Scaling::None:
      return name;
    case engine::Scaling::Nvfp4:
      return fmt::format("{}{}{}{}", name, recipe.square_weight_blocks ? " square-weights" : "",
                         recipe.hadamard ? " hadamard" : "",
                         recipe.stochastic_rounding ? " stochastic" : "");
    case engine::Scaling::Mxfp8:
      return fmt::format("{} {}{}", name, format_name(recipe.activation_format),
                         recipe.square_weight_blocks ? " square-weights" : "");
    case engine::Scaling::PerTensorDelayed:
      return fmt::format("{} {}{} {} of {} margin {}", name, format_name(recipe.activation_format),
                         pow2 ? " pow2" : "", algorithm_name(recipe.delayed.algorithm),
                         recipe.delayed.history_length, recipe.delayed.margin);
    default:
      return fmt::format("{} {}{}", name, format_name(recipe.activation_format),
                         pow2 ? " pow2" : "");
  }
}

std::string run_title(const engine::RunRequest& request) {
  const engine::ShapeSpec& shape = request.shape;
  const std::string recipe = recipe_title(request.recipe);
  return fmt::format("{}, {}{} experts, {} tokens, n {}, k {}, {} routing, {}, {}", recipe,
                     shape.preset.empty() ? std::string() : shape.preset + ": ", shape.num_experts,
                     shape.tokens, shape.n, shape.k, routing_name(request.routing.distribution),
                     backend_name(request.backend), launch_name(request.launch.kind));
}

}  // namespace profiling
