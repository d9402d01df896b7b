// Words for the settings of a run, as the exported files show them.
#pragma once

#include <string>
#include <string_view>

#include "engine/model/run_request.h"

namespace profiling {

std::string_view scaling_name(engine::Scaling scaling);
std::string_view format_name(engine::Fp8Format format);
std::string_view backend_name(engine::GemmBackend backend);
std::string_view launch_name(engine::LaunchKind launch);
std::string_view workspace_name(engine::WorkspaceStrategy workspace);
std::string_view routing_name(engine::RoutingDistribution routing);
std::string_view algorithm_name(kernels::AmaxAlgorithm algorithm);
/// The scaling and the settings that mean something to it: "fp8-block e4m3 pow2".
std::string recipe_title(const engine::Recipe& recipe);
/// "normal bf16", or the path and tensor of a file.
std::string input_name(const engine::InputSpec& input);
/// One line that tells runs apart: recipe, shape, routing, backend and launch.
std::string run_title(const engine::RunRequest& request);

}  // namespace profiling
