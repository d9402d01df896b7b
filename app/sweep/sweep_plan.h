// A sweep: a base request varied along axes, every combination once.
#pragma once

#include <vector>

#include "app/sweep/planned_run.h"

namespace app {

/// An empty list keeps the base request's value.
struct SweepAxes {
  std::vector<engine::Scaling> recipes = {};
  bool pow2 = false;  // on and off, for the recipes it affects
  std::vector<engine::GemmBackend> backends = {};
  std::vector<engine::WorkspaceStrategy> workspaces = {};
  std::vector<engine::RoutingDistribution> routings = {};  // File needs a path and is left out

  bool operator==(const SweepAxes&) const = default;
};

/// Backends of the worker that can run, in the order of their enum.
std::vector<engine::GemmBackend> backends_of(const WorkerHello& hello);
std::vector<engine::Scaling> all_scalings();
std::vector<engine::WorkspaceStrategy> all_workspaces();

/// Other settings of a recipe come from the base request. A combination that results in the same
/// settings as an earlier one is left out.
std::vector<PlannedRun> plan_sweep(const engine::RunRequest& base, const SweepAxes& axes,
                                   const WorkerHello& hello);

}  // namespace app
