#include "app/sweep/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/gemm/support.h"
#include "engine/model/recipe_traits.h"
#include "profiling/export/setting_names.h"

namespace app {
namespace {

using engine::Scaling;

template <class Enum>
std::vector<Enum> every() {
  std::vector<Enum> values;
  for (const engine::EnumName& entry : engine::kType<Enum>.names) {
    values.push_back(static_cast<Enum>(entry.value));
  }
  return values;
}

bool has_pow2(Scaling scaling) { return engine::traits_of(scaling).chooses_pow2(); }

/// The axis' values, or the base request's value.
template <class T>
std::vector<T> values_of(const std::vector<T>& axis, T base) {
  return axis.empty() ? std::vector<T>{base} : axis;
}

std::string label_of(const engine::RunRequest& request, const SweepAxes& axes) {
  // The recipe is always part of the label: it names the point.
  std::string label(engine::name_of(request.recipe.scaling));
  if (has_pow2(request.recipe.scaling)) {
    label += request.recipe.pow2_scales ? " pow2" : " any scale";
  }
  if (axes.backends.size() > 1) {
    label += fmt::format(", {}", engine::name_of(request.backend));
  }
  if (!axes.workspaces.empty()) {
    label += fmt::format(", workspace {}", engine::name_of(request.workspace));
  }
  if (!axes.routings.empty()) {
    label += fmt::format(", {}", engine::name_of(request.routing.distribution));
  }
  return label;
}

void vary_recipe(const engine::RunRequest& base, const SweepAxes& axes,
                 std::vector<engine::RunRequest>& requests) {
  for (const Scaling scaling : values_of(axes.recipes, base.recipe.scaling)) {
    engine::RunRequest request = base;
    request.recipe.scaling = scaling;
    if (!axes.pow2 || !has_pow2(scaling)) {
      requests.push_back(std::move(request));
      continue;
    }
    for (const bool pow2 : {true, false}) {
      request.recipe.pow2_scales = pow2;
      requests.push_back(request);
    }
  }
}

}  // namespace

std::vector<engine::GemmBackend> backends_of(const WorkerHello& hello) {
  std::vector<engine::GemmBackend> backends;
  for (const engine::GemmBackend kind : every<engine::GemmBackend>()) {
    const BackendOffer* offer = offer_of(hello, kind);
    if (offer != nullptr && offer->available) backends.push_back(kind);
  }
  return backends;
}

std::vector<Scaling> all_scalings() { return every<Scaling>(); }

std::vector<engine::WorkspaceStrategy> all_workspaces() {
  return every<engine::WorkspaceStrategy>();
}

std::vector<PlannedRun> plan_sweep(const engine::RunRequest& base, const SweepAxes& axes,
                                   const WorkerHello& hello) {
  std::vector<engine::RunRequest> requests;
  for (const engine::RoutingDistribution routing :
       values_of(axes.routings, base.routing.distribution)) {
    if (!axes.routings.empty() && routing == engine::RoutingDistribution::File) continue;
    for (const engine::GemmBackend backend : values_of(axes.backends, base.backend)) {
      for (const engine::WorkspaceStrategy workspace : values_of(axes.workspaces, base.workspace)) {
        engine::RunRequest request = base;
        request.backend = backend;
        request.workspace = workspace;
        request.routing.distribution = routing;
        if (!axes.routings.empty()) request.routing.path.clear();
        vary_recipe(request, axes, requests);
      }
    }
  }
  std::vector<PlannedRun> plan;
  std::vector<engine::RunRequest> seen;
  for (engine::RunRequest& request : requests) {
    // Where the workspace has no effect all of its points would measure the same.
    std::string same;
    if (!axes.workspaces.empty() && request.workspace != axes.workspaces.front()) {
      same = engine::inapplicable_reason("workspace", request);
    }
    if (same.empty()) {
      engine::RunRequest effective = engine::forced_settings(request).effective;
      if (std::ranges::find(seen, effective) != seen.end()) continue;
      seen.push_back(std::move(effective));
    }
    PlannedRun run;
    run.label = label_of(request, axes);
    run.refused = refusal_of(request, hello);
    if (run.refused.empty()) run.refused = std::move(same);
    run.request = std::move(request);
    plan.push_back(std::move(run));
  }
  return plan;
}

}  // namespace app
