// The worker's own gates decide what is refused: nothing is planned that it could not do.
#include "app/sweep/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "engine/gemm/support.h"
#include "engine/model/backend_traits.h"
#include "engine/model/leaves.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_words.h"
#include "engine/model/values.h"
#include "profiling/compare/time_difference.h"
#include "profiling/document/setting_names.h"

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

/// Rounding scales down to powers of two is a choice: of any projection, where recipes are mixed.
bool has_pow2(const engine::RunRequest& request) {
  return engine::inapplicable_reason("recipe.pow2_scales", request).empty();
}

/// The axis' values, or the base request's value.
template <class T>
std::vector<T> values_of(const std::vector<T>& axis, T base) {
  return axis.empty() ? std::vector<T>{base} : axis;
}

std::string text_in(const engine::RunRequest& request, std::string_view field) {
  const engine::FoundLeaf leaf =
      engine::find_leaf(engine::kType<engine::RunRequest>, &request, field);
  return engine::text_of(*leaf.type, leaf.value);
}

std::string label_of(const engine::RunRequest& request, const SweepAxes& axes) {
  // The recipe is always part of the label: it names the point.
  std::string label(engine::name_of(request.recipe.scaling));
  if (engine::is_expert_layer(request) && request.expert_layer.mixed_recipes) {
    label += fmt::format(" up, {} down", engine::name_of(request.expert_layer.down_scaling));
  }
  if (has_pow2(request)) {
    label += fmt::format(", {}", engine::scales_label(request.recipe.pow2_scales));
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
  for (const NumberAxis& axis : axes.numbers) {
    const bool said = axis.field == "recipe.scaling" || axis.field == "recipe.pow2_scales";
    if (axis.values.size() < 2 || said) continue;
    label += fmt::format(", {} {}", short_name(axis.field), text_in(request, axis.field));
  }
  return label;
}

void vary_recipe(const engine::RunRequest& base, const SweepAxes& axes,
                 std::vector<engine::RunRequest>& requests) {
  for (const Scaling scaling : values_of(axes.recipes, base.recipe.scaling)) {
    engine::RunRequest request = base;
    request.recipe.scaling = scaling;
    if (!axes.pow2 || !has_pow2(request)) {
      requests.push_back(std::move(request));
      continue;
    }
    for (const bool pow2 : {true, false}) {
      request.recipe.pow2_scales = pow2;
      requests.push_back(request);
    }
  }
}

/// Every combination of the axes that are no numbers.
void vary_settings(const engine::RunRequest& base, const SweepAxes& axes,
                   std::vector<engine::RunRequest>& requests) {
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
}

/// The base request with every combination of the numbers.
std::vector<engine::RunRequest> vary_numbers(const engine::RunRequest& base,
                                             const std::vector<NumberAxis>& axes) {
  std::vector<engine::RunRequest> requests = {base};
  for (const NumberAxis& axis : axes) {
    std::vector<engine::RunRequest> varied;
    for (const engine::RunRequest& request : requests) {
      for (const std::string& value : axis.values) {
        engine::RunRequest& one = varied.emplace_back(request);
        engine::set_leaf(engine::kType<engine::RunRequest>, &one, axis.field, value);
        // These are no longer the sizes that the preset has.
        if (one.shape != base.shape) one.shape.preset.clear();
      }
    }
    requests = std::move(varied);
  }
  return requests;
}

/// Why a run would measure the same as the one with the first value of an axis; empty = it does
/// not.
std::string repetition(const engine::RunRequest& request, const SweepAxes& axes) {
  std::string reason;
  if (!axes.workspaces.empty() && request.workspace != axes.workspaces.front()) {
    reason = engine::inapplicable_reason("workspace", request);
  }
  for (const NumberAxis& axis : axes.numbers) {
    if (!reason.empty()) break;
    if (text_in(request, axis.field) == axis.values.front()) continue;
    reason = engine::inapplicable_reason(axis.field, request);
  }
  return reason;
}

/// With the fewest samples an interval reaches from the shortest to the longest: one slow step of
/// the first run, which starts cold, would leave every point undecided. Each one that it leaves out
/// at either end takes about four more: two of them are.
constexpr std::size_t kSpareIterations = 8;

/// Whether somebody decided how many iterations the runs of a sweep have.
bool are_chosen(const engine::RunRequest& base, const SweepAxes& axes) {
  return axes.iterations_chosen || base.launch.iterations != engine::LaunchMode{}.iterations ||
         std::ranges::any_of(axes.numbers, [](const NumberAxis& axis) {
           return axis.field == "launch.iterations";
         });
}

/// Of the axes, before runs that would be equal are left out.
std::size_t combinations(const engine::RunRequest& base, const SweepAxes& axes) {
  std::vector<engine::RunRequest> recipes;
  vary_recipe(base, axes, recipes);
  std::size_t count = recipes.size();
  const auto multiply = [&count](std::size_t values) {
    // Beyond every limit the exact number says nothing more.
    count = std::min(count * std::max(values, std::size_t{1}), std::size_t{1} << 30);
  };
  multiply(axes.backends.size());
  multiply(axes.workspaces.size());
  multiply(axes.routings.size());
  for (const NumberAxis& axis : axes.numbers) multiply(axis.values.size());
  return count;
}

}  // namespace

const BackendOffer* offer_of(const WorkerHello& hello, engine::GemmBackend kind) {
  // One offer of a worker serves every backend of its device.
  const auto found = std::ranges::find_if(hello.backends, [&](const BackendOffer& one) {
    return engine::traits_of(one.kind).device == engine::traits_of(kind).device;
  });
  return found == hello.backends.end() ? nullptr : &*found;
}

engine::DeviceCapability capability_of(const BackendOffer& offer) {
  if (!engine::traits_of(offer.kind).device) return {};
  return engine::capability_of(offer.device, offer.available);
}

std::string refusal_of(const engine::RunRequest& request, const WorkerHello& hello) {
  if (const engine::Status limits = engine::validate(request); !limits.ok()) {
    return limits.error().message;
  }
  const BackendOffer* offer = offer_of(hello, request.backend);
  if (offer == nullptr || !offer->available) {
    return offer != nullptr && !offer->reason.empty()
               ? offer->reason
               : fmt::format("The worker has no backend {}", engine::name_of(request.backend));
  }
  const engine::DeviceCapability device = capability_of(*offer);
  const engine::Verdict recipe = engine::recipe_support(request, device);
  if (recipe.support == engine::Support::Refused) return recipe.sentence;
  // Without CUDA the worker runs eagerly and without a workspace, and says so in its result.
  if (!engine::traits_of(request.backend).device) return {};
  for (const engine::Verdict& verdict :
       {engine::workspace_support(request.workspace, request, device),
        engine::launch_support(request.launch, request.backend, device)}) {
    if (verdict.support == engine::Support::Refused) return verdict.sentence;
  }
  return {};
}

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

SweepIterations iterations_of(std::span<const PlannedRun> plan) {
  SweepIterations found;
  for (const PlannedRun& run : plan) {
    if (!run.refused.empty()) continue;
    const auto taken = static_cast<std::size_t>(std::max(run.request.launch.iterations, 0));
    found.fewest = found.points == 0 ? taken : std::min(found.fewest, taken);
    ++found.points;
  }
  if (found.points > 1) found.needed = profiling::fewest_samples(found.points);
  return found;
}

std::string SweepIterations::words() const {
  return fmt::format(
      "{} iterations of each run are {} for a verdict among {} points, which needs "
      "{}",
      fewest, too_few() ? "too few" : "enough", points, needed);
}

engine::Result<std::vector<PlannedRun>> plan_sweep(const engine::RunRequest& base,
                                                   const SweepAxes& axes, const WorkerHello& hello,
                                                   std::size_t most) {
  if (const std::size_t count = combinations(base, axes); count > most) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("{} combinations are more than the {} runs that a sweep has "
                                     "here; vary less, or list fewer values",
                                     count, most)};
  }
  std::vector<engine::RunRequest> requests;
  for (const engine::RunRequest& sized : vary_numbers(base, axes.numbers)) {
    vary_settings(sized, axes, requests);
  }
  std::vector<PlannedRun> plan;
  std::vector<engine::RunRequest> seen;
  const bool chosen = are_chosen(base, axes);
  for (engine::RunRequest& request : requests) {
    std::string same = repetition(request, axes);
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
  if (!chosen) {
    const std::size_t needed = iterations_of(plan).needed;
    const int enough = needed == 0 ? 0 : static_cast<int>(needed + kSpareIterations);
    for (PlannedRun& run : plan) {
      run.request.launch.iterations = std::max(run.request.launch.iterations, enough);
    }
  }
  return plan;
}

engine::Result<std::vector<PlannedRun>> plan_interleaved(const InterleavedOrder& order,
                                                         const WorkerHello& hello,
                                                         std::uint64_t seed) {
  if (order.blocks < kMinBlocks || order.blocks > kMaxBlocks || order.blocks % 2 != 0) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("blocks is {}; it must be an even number from {} to {}",
                                     order.blocks, kMinBlocks, kMaxBlocks)};
  }
  PlannedRun sides[] = {{.request = order.a, .label = "A", .refused = {}},
                        {.request = order.b, .label = "B", .refused = {}}};
  for (PlannedRun& side : sides) {
    side.request.launch.iterations = order.iterations;
    side.request.launch.median_within = 0;  // blocks of one length
    if (const std::string refused = refusal_of(side.request, hello); !refused.empty()) {
      return engine::Error{engine::ErrorCode::Unsupported,
                           fmt::format("{} cannot be measured: {}", side.label, refused)};
    }
  }
  std::vector<PlannedRun> plan;
  for (const bool of_b : draw_sides(order.blocks, seed)) plan.push_back(sides[of_b ? 1 : 0]);
  return plan;
}

std::vector<bool> draw_sides(int blocks, std::uint64_t seed) {
  std::vector<bool> sides(static_cast<std::size_t>(blocks), false);
  std::fill(sides.begin() + blocks / 2, sides.end(), true);
  std::mt19937_64 random(seed);
  std::shuffle(sides.begin(), sides.end(), random);
  return sides;
}

}  // namespace app
